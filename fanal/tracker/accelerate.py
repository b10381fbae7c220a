"""`FanalTracker`: Accelerate writes a run: `Accelerator(log_with=FanalTracker("project"))`. Imports Accelerate."""
# pyright: basic, reportMissingImports=false
# The framework is there where this is used, and its types are its own.

from typing import Any

from accelerate.tracking import (
    GeneralTracker,
    on_main_process,
)

from fanal.tracker import current
from fanal.tracker.image import Image
from fanal.tracker.run import Run
from fanal.tracker.table import Table


class FanalTracker(GeneralTracker):
    """Logs what a script gives to its accelerator."""

    name = "fanal"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run_name: str, **init: Any) -> None:
        super().__init__()
        self._init: dict[str, Any] = {"project": run_name, **init}
        self._run: Run | None = None

    @property
    def run(self) -> Run:
        """The run, begun when it is first asked for."""
        if self._run is None:
            self._run = current.init(**self._init)
        return self._run

    @property
    def tracker(self) -> Run:
        """The run."""
        return self.run

    @on_main_process
    def start(self) -> None:
        """Begin the run."""
        self._run = self.run

    @on_main_process
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """The script's configuration."""
        self.run.config.update(values)

    @on_main_process
    def log(self, values: dict[str, Any], step: int | None = None, **named: Any) -> None:
        """A row."""
        self.run.log(values, step, **named)

    @on_main_process
    def log_images(self, values: dict[str, Any], step: int | None = None, **named: Any) -> None:
        """Pictures, a list a key."""
        self.run.log({key: [Image(image) for image in images] for key, images in values.items()}, step, **named)

    @on_main_process
    def log_table(
        self, table_name: str, columns: Any = None, data: Any = None, dataframe: Any = None, step: int | None = None
    ) -> None:
        """A table."""
        self.run.log({table_name: Table(columns=columns, data=data, dataframe=dataframe)}, step)

    @on_main_process
    def finish(self) -> None:
        """End the run."""
        self.run.finish()
