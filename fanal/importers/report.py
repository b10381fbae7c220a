"""The completeness report of an import: what the source held, what the record holds now, and what could not be read.

Totals are read back from the record, not counted on the way; where they differ from what was written it is said.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.importers.findings import Expected, Unreadable
from fanal.record.reading.read import RunView

MAX_NAMED = 20
"""Gaps and unreadable places that a report names; the others are counted."""


@dataclass
class RunReport:
    """One run's completeness."""

    run: str
    added_rows: int = 0
    rows: int = 0
    values: int = 0
    keys: int = 0
    attempts: int = 0
    first_step: int | None = None
    last_step: int | None = None
    duplicates: int = 0
    """Points whose key and step came more than once in an attempt; all are kept, the last counts."""
    gaps: list[list[int]] = field(default_factory=list[list[int]])
    """Last step before and first step after a gap, where steps are otherwise regular."""
    num_gaps: int = 0
    stride_steps: int | None = None
    """The usual distance of steps; None where there is none."""
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])
    num_unreadable: int = 0
    torn_bytes: int = 0
    missing: list[str] = field(default_factory=list[str])
    """What the source says it has and the record does not hold."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """A few lines for people."""
        steps = f"steps {self.first_step} to {self.last_step}" if self.first_step is not None else "no steps"
        lines = [
            f"{self.run}: {_count(self.rows, 'row')}, {_count(self.values, 'value')}, {_count(self.keys, 'key')}, "
            f"{steps}, {_count(self.attempts, 'attempt')}; {self.added_rows or 'nothing'} new"
        ]
        lines.append(f"  duplicates: {_count(self.duplicates, 'point')}" if self.duplicates else "  duplicates: none")
        if self.stride_steps is None:
            lines.append("  gaps: not told, since steps are not regular")
        else:
            named = ", ".join(f"{a} to {b}" for a, b in self.gaps[:5])
            lines.append(f"  gaps: {self.num_gaps} ({named})" if self.num_gaps else "  gaps: none")
        lines.append(f"  unreadable: {self.num_unreadable or 'none'}")
        lines += [f"    {one.where}: {one.what}" for one in self.unreadable]
        if self.torn_bytes:
            lines.append(f"  torn tail: {self.torn_bytes} bytes after the last whole record, read once it is finished")
        lines += [f"  missing: {what}" for what in self.missing]
        return "\n".join(lines + [f"  {note}" for note in self.notes])


@dataclass
class ImportReport:
    """What an import brought, by run."""

    kind: str
    source: str
    record: str
    runs: list[RunReport]

    @property
    def exit_code(self) -> int:
        """1 where something before the end cannot be read or is missing, otherwise 0; a torn tail is 0."""
        return int(any(run.num_unreadable or run.missing for run in self.runs))

    @property
    def text(self) -> str:
        """The report for people."""
        head = f"imported {self.kind} {self.source} into {self.record}: {_count(len(self.runs), 'run')}"
        return "\n".join([head, *(run.text for run in self.runs)])

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "kind": self.kind,
            "source": self.source,
            "record": self.record,
            "exit_code": self.exit_code,
            "runs": [asdict(run) for run in self.runs],
        }


def measure(view: RunView, report: RunReport, counts: Mapping[str, int]) -> None:
    """Fill in what the record holds of a run."""
    report.rows, report.attempts, report.keys = counts["rows"], len(view.attempts), len(view.keys())
    timed = {key for key in view.keys() if key.startswith("system/")}  # noqa: SIM118
    parts: list[NDArray[np.int64]] = []
    for attempt in view.attempts:
        for key in view.keys():  # noqa: SIM118
            series = view.series(key, attempt=attempt.number)
            report.values += len(series) + series.num_overwritten
            if key in timed:
                continue
            distinct = np.unique(series.steps)
            report.duplicates += series.num_overwritten + len(series) - len(distinct)
            if len(distinct) and not (parts and np.array_equal(parts[-1], distinct)):
                parts.append(distinct)
    if parts:
        _gaps(report, np.unique(np.concatenate(parts)))
    if report.values != counts["values"]:
        report.missing.append(f"{counts['values']} values were written and {report.values} can be read back")


def hold_against(view: RunView, expected: Expected, report: RunReport) -> None:
    """Say what a source has and the record does not hold."""
    others = Counter(other.key for other in view.others())
    known = set(view.keys())
    for key, wanted in expected.points.items():
        found = others[key]
        if key in known:
            by_attempt = [view.series(key, attempt=attempt.number) for attempt in view.attempts]
            found += sum(len(series) + series.num_overwritten for series in by_attempt)
        if found < wanted:
            report.missing.append(f"{key}: the source has {wanted} points, the record {found}")
    report.missing += expected.missing


def _gaps(report: RunReport, steps: NDArray[np.int64]) -> None:
    report.first_step, report.last_step = int(steps[0]), int(steps[-1])
    distances = np.diff(steps)
    if not len(distances):
        report.stride_steps = 0
        return
    sizes, times = np.unique(distances, return_counts=True)
    if 2 * int(times.max()) < len(distances):
        return
    report.stride_steps = int(sizes[int(times.argmax())])
    wide = np.flatnonzero(distances > report.stride_steps)
    report.num_gaps = len(wide)
    report.gaps = [[int(steps[at]), int(steps[at + 1])] for at in wide[:MAX_NAMED].tolist()]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
