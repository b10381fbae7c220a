"""Makes one run of several that were one training: `fanal stitch RECORD a b c --as ID`.

Writes a run with no rows that names the others, in order, each from its first step on; what a later one logged again is
superseded. The others stay as they are, and every point of theirs stays readable. The new run can be gone on with.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError, RefusedError
from fanal.record import layout
from fanal.record.attempt import Start, start
from fanal.record.events import nearest
from fanal.record.reading.read import Record


@dataclass(frozen=True)
class Part:
    """One of the runs that were stitched."""

    run: str
    from_step: int | None
    """Its first step; None where it has logged nothing."""
    end_step: int | None
    """The step from which the next takes over; None for the last."""
    attempts: int


@dataclass(frozen=True)
class StitchReport:
    """What was made of which runs."""

    record: str
    run: str
    parts: tuple[Part, ...]
    exit_code: int = 0

    @property
    def text(self) -> str:
        """The result in a few lines."""
        lines = [f"{self.record}: run {self.run} is {len(self.parts)} runs read one after the other"]
        for part in self.parts:
            until = "on" if part.end_step is None else f"to {part.end_step - 1}"
            steps = "no rows" if part.from_step is None else f"steps {part.from_step} {until}"
            hidden = part.from_step is not None and part.end_step is not None and part.end_step <= part.from_step
            shown = "nothing: later runs took all its steps over" if hidden else steps
            lines.append(f"  {part.run}: {shown} ({part.attempts} attempt{'s' if part.attempts > 1 else ''})")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return asdict(self)


def stitch(record: Path, runs: Sequence[str], as_id: str) -> StitchReport:
    """Write the run `as_id`, which reads `runs` one after the other.

    Raises:
        RecordError: there is no such record or run, or too few runs; names the nearest.
        RefusedError: `as_id` is a run already.
        ValueError: `as_id` cannot be a run's id.
    """
    folder = layout.find_record(record)
    layout.check_run_id(as_id)
    opened = Record(folder)
    for run in runs:
        if run not in opened.runs:
            raise RecordError(f"{folder} has no run {run!r}; nearest: {nearest(run, opened.runs)}")
    if len(runs) < 2 or len(set(runs)) < len(runs):
        raise RecordError(f"stitch needs two or more different runs in the order in which they ran, got {list(runs)}")
    if as_id in layout.runs_of(folder):
        raise RefusedError(f"{folder} has a run {as_id!r} already: name a new one with --as")
    firsts = [opened.runs[run].first_step() for run in runs]
    begun = start(folder, Start(id=as_id, cause="stitch", project=_project(opened, runs[-1])))
    begun.event("stitch", parts=[{"run": r, "from_step": first} for r, first in zip(runs, firsts, strict=True)])
    begun.finish()
    later = [[step for step in firsts[i + 1 :] if step is not None] for i in range(len(runs))]
    parts = zip(runs, firsts, (min(steps, default=None) for steps in later), strict=True)
    return StitchReport(str(folder), as_id, tuple(Part(*part, len(opened.runs[part[0]].attempts)) for part in parts))


def _project(record: Record, run: str) -> str | None:
    starts = record.runs[run].events("attempt.start")
    return starts[0].fields.get("project") if starts else None
