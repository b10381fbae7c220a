"""Stretches of work in a record: their start and end with what they took; and a run that always ends as what it was.

`alone` keeps two processes from working in one campaign's folder; the kernel lets go of it however a process ends.
"""

import fcntl
import resource
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.errors import FanalError, RefusedError
from fanal.record.attempt import Run
from fanal.record.reading.read import Record


@dataclass(frozen=True)
class Stage:
    """A stretch of work, from `stage.start` to `stage.end`."""

    run: Run
    name: str
    began: float
    began_cpu: float

    @classmethod
    def begin(cls, run: Run, name: str) -> "Stage":
        """Write the stage's start."""
        run.event("stage.start", stage=name)
        return cls(run, name, time.monotonic(), cpu_seconds())

    def end(self, report: Mapping[str, Any]) -> None:
        """Write the stage's end, with what it took."""
        seconds, cpu = time.monotonic() - self.began, cpu_seconds() - self.began_cpu
        self.run.event("stage.end", stage=self.name, seconds=seconds, cpu_seconds=cpu, report=dict(report))


def cpu_seconds() -> float:
    """Processor time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def stage_seconds(record: Record) -> dict[str, float]:
    """Wall time by stage, in order of their first end, all attempts of the campaign's run together."""
    seconds: dict[str, float] = {}
    for event in record.campaign.events("stage.end") if record.campaign else []:
        name = event.fields["stage"]
        seconds[name] = seconds.get(name, 0.0) + event.fields["seconds"]
    return seconds


@contextmanager
def ended(run: Run) -> Generator[Run]:
    """End the attempt as interrupted or failed where the block is left by an error; else the block ends it."""
    try:
        yield run
    except KeyboardInterrupt:
        run.finish("interrupted", "stopped by a person")
        raise
    except FanalError as error:
        run.finish("failed", str(error))
        raise
    finally:
        run.finish("failed", "an error of Fanal's own")  # does nothing where it has ended


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Hold a campaign's folder for this process.

    Raises:
        RefusedError: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            words = f"{folder} is at work in another process: wait for it, or watch it with `fanal serve {folder}`"
            raise RefusedError(words) from error
        yield
