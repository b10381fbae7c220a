"""`FanalLogger`: Lightning's Trainer writes a run: `Trainer(logger=FanalLogger(project="…"))`. Imports Lightning.

Only the first process of a job writes. The run's step is the Trainer's; `log_model=True` keeps the last checkpoints
as artifacts, `"all"` each one when it is saved.
"""
# pyright: basic, reportMissingImports=false
# The framework is there where this is used, and its types are its own.

from argparse import Namespace
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import (
    Logger,
    rank_zero_experiment,
)
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from fanal.tracker import current
from fanal.tracker.run import Run

TRAINER_STEP = "trainer/global_step"


class FanalLogger(Logger):
    """Logs what a module logs."""

    def __init__(self, log_model: bool | str = False, prefix: str = "", **init: Any) -> None:
        super().__init__()
        self._init = init
        self._log_model = log_model
        self._prefix = prefix
        self._run: Run | None = None
        self._checkpoints: Any = None
        self._kept: set[str] = set()

    @property
    @rank_zero_experiment
    def experiment(self) -> Run:
        """The run, begun when it is first asked for; one that is open is taken."""
        if self._run is None:
            self._run = current.current() or current.init(**self._init)
            self._run.define_metric(TRAINER_STEP)
            self._run.define_metric("*", step_metric=TRAINER_STEP, step_sync=True)
        return self._run

    @property
    def name(self) -> str | None:
        """The project."""
        return self._init.get("project")

    @property
    def version(self) -> str | None:
        """The run's id, once it has begun."""
        return self._run.id if self._run is not None else self._init.get("id")

    @property
    def save_dir(self) -> str | None:
        """The record's folder, as far as it was given."""
        folder = self._init.get("dir")
        return None if folder is None else str(folder)

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """A row; the step of the Trainer is a key beside the run's own."""
        row = {f"{self._prefix}-{key}" if self._prefix else key: value for key, value in metrics.items()}
        self.experiment.log(row if step is None else {**row, TRAINER_STEP: step})

    @rank_zero_only
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """The module's hyperparameters."""
        self.experiment.config.update(vars(params) if isinstance(params, Namespace) else params)

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Keep checkpoints, as far as that is asked for."""
        self._checkpoints = checkpoint_callback
        if self._log_model == "all":
            self._keep()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Keep the last checkpoints; the run stays open for what the script still logs."""
        if status == "success" and self._log_model and self._checkpoints is not None:
            self._keep()
        if self._run is not None:
            self._run.flush()

    def _keep(self) -> None:
        best = getattr(self._checkpoints, "best_model_path", "")
        paths = {
            *getattr(self._checkpoints, "best_k_models", {}),
            best,
            getattr(self._checkpoints, "last_model_path", ""),
        }
        for path in sorted(path for path in paths if path and path not in self._kept and Path(path).is_file()):
            self._kept.add(path)
            aliases = ["best"] if path == best else []
            self.experiment.log_artifact(path, f"model-{self.experiment.id}", "model", aliases)
