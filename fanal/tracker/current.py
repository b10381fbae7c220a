"""`init`, `log`, `finish`: the tracker that scripts write to, whose calls everybody knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanal.record import layout
from fanal.record.attempt import Run, Start, start

_current: Run | None = None


def init(
    *,
    project: str | None = None,
    dir: str | Path | None = None,
    id: str | None = None,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    role: str = "run",
    cause: str | None = None,
    from_step: int | None = None,
) -> Run:
    """Begin an attempt and make it this process' current run; the one before it, if open, ends.

    `dir` is the record's folder, `fanal/<project>` where absent. An `id` that is there already begins a further
    attempt, whose `from_step` is the first step it will log: earlier attempts' rows from it on are superseded.

    Raises:
        RecordError: the record cannot be made or written.
        RefusedError: another living process writes this run.
        ValueError: the id cannot be a folder's name.
    """
    global _current
    if _current is not None:
        _current.finish()
    folder = Path(dir) if dir is not None else Path("fanal") / layout.run_id_from(project or "project")
    _current = start(folder, Start(project, id, name, config, role, cause, from_step))
    return _current


def log(metrics: Mapping[str, Any], step: int | None = None) -> None:
    """Record one row in the current run; without `step`, the step after the last one.

    Raises:
        RuntimeError: `init` was not called.
    """
    if _current is None:
        raise RuntimeError("fanal.log: there is no run; call fanal.init(...) first")
    _current.log(metrics, step)


def finish(outcome: str = "finished", reason: str | None = None) -> None:
    """End the current run's attempt; nothing where there is none."""
    global _current
    if _current is not None:
        _current.finish(outcome, reason)
        _current = None


def current() -> Run | None:
    """The run that `fanal.log` writes to."""
    return _current
