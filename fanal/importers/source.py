"""`import_source`: another tool's files into a record, once or while they grow, with a report of completeness by run.

Importing again adds only what is new, and nothing where nothing is. `live` polls until nothing has come for
`until_idle_seconds` or until Ctrl-C. Reading is by the kinds' own modules; writing by `ingest.py`.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fanal.errors import RecordError
from fanal.importers import csv_file, hf, json_lines, tensorboard, wandb_online, wandb_runs
from fanal.importers.ingest import Ingest
from fanal.importers.items import RunSource
from fanal.importers.report import ImportReport, RunReport
from fanal.importers.state import Known, known_runs
from fanal.record.reading.read import Record

Find = Callable[[Path, bool], Mapping[str, RunSource]]
KINDS: dict[str, Find] = {
    "csv": csv_file.find_runs,
    "jsonl": json_lines.find_runs,
    "hf": hf.find_runs,
    "tensorboard": tensorboard.find_runs,
    "wandb": wandb_runs.find_runs,
    "wandb-online": wandb_online.find_runs,
}
POLL_SECONDS = 0.5
FIND_SECONDS = 2.0
"""How often new files are looked for."""
REST_SECONDS = 60.0
"""A run whose source has been silent for so long gives its files back."""


def import_source(
    kind: str, source: Path | str, into: Path, live: bool = False, until_idle_seconds: float | None = None
) -> ImportReport:
    """Import `source`, a file or folder of another tool, into the record `into`, which is made where there is none.

    Raises:
        RecordError: the source is not what its kind reads, or the record cannot be written.
        RefusedError: another living process writes one of the runs.
    """
    if kind not in KINDS:
        raise RecordError(f"import knows no kind {kind!r}: one of {', '.join(KINDS)}")
    if until_idle_seconds is not None and not live:
        raise RecordError("--until-idle belongs to --live")
    if until_idle_seconds is not None and (math.isnan(until_idle_seconds) or until_idle_seconds < 0):
        raise RecordError(f"--until-idle must be 0 seconds or more, got {until_idle_seconds:g}")
    session = _Session(kind, Path(source), into.absolute(), live)
    try:
        if live:
            session.follow(until_idle_seconds)
        else:
            session.once()
        return session.report()
    finally:
        session.close()


class _Session:
    """One import: its runs so far."""

    def __init__(self, kind: str, source: Path, into: Path, live: bool) -> None:
        self._kind, self._source, self._into, self._live = kind, source, into, live
        self._known = known_runs(into, kind)
        self._ingests: dict[str, Ingest] = {}
        self._reports: list[RunReport] = []
        self._opened: Record | None = None

    def once(self) -> None:
        self._find()
        if not self._ingests:
            raise RecordError(f"{self._source}: nothing there that kind {self._kind!r} reads")
        for ingest in self._ingests.values():
            ingest.take()
            self._reports.append(ingest.finish(self._look))

    def follow(self, until_idle_seconds: float | None) -> None:
        last_new = time.monotonic()
        looked = -FIND_SECONDS
        with _stop_signal() as stopped:
            while not stopped.is_set():
                if time.monotonic() - looked > FIND_SECONDS and self._source.exists():
                    looked = time.monotonic()
                    self._find()
                for ingest in self._ingests.values():
                    if ingest.take():
                        last_new = time.monotonic()
                    elif time.monotonic() - ingest.last_new > REST_SECONDS:
                        ingest.rest()
                if until_idle_seconds is not None and time.monotonic() - last_new >= until_idle_seconds:
                    return
                stopped.wait(POLL_SECONDS)

    def report(self) -> ImportReport:
        if self._live:
            self._reports += [ingest.finish(self._look) for ingest in self._ingests.values()]
        return ImportReport(self._kind, str(self._source), str(self._into), self._reports)

    def _look(self) -> Record:
        """The record as it is now, at the cost of what is new in it."""
        if self._opened is None:
            self._opened = Record(self._into)
        else:
            self._opened.refresh()
        return self._opened

    def close(self) -> None:
        """Give back what an error left open."""
        for ingest in self._ingests.values():
            ingest.abandon()

    def _find(self) -> None:
        for name, run in KINDS[self._kind](self._source, self._live).items():
            if name in self._ingests:
                self._ingests[name].source.renew(run)
            else:
                self._ingests[name] = Ingest(self._into, self._kind, run, self._known_of(run))

    def _known_of(self, run: RunSource) -> Known | None:
        return next((known for known in self._known if run.owns(known.cursor)), None)


@contextmanager
def _stop_signal() -> Generator[threading.Event]:
    """Set by Ctrl-C, which so never stops between a row and what says that it is in."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        stopped.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
