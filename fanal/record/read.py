"""Reads a record, finished or being written: runs in order of creation, series exact and stitched, events in order.

`refresh` costs what is new: segments never change, and of a log only the bytes after the last read. Nothing is sampled
or rounded; reduced history is in `tiles.py`. No lock is taken. A missing run or key is a KeyError naming the nearest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.record import layout
from fanal.record.events import Event, nearest
from fanal.record.lineage import FIRST_OF_ALL, LAST_OF_ALL, Beginning, Visible, visible
from fanal.record.values import decode
from fanal.record.writer_view import Piece, WriterView

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One key's history, by step."""

    steps: Ints
    values: Floats
    times_ns: Ints
    attempts: Ints
    """The attempt that logged each point."""
    writers: Ints
    """The writer inside the attempt, in order of their names."""
    sequences: Ints
    """Each point's number in its writer."""
    num_overwritten: int = 0
    """Points left out because the same attempt logged the key again for the same step."""
    num_superseded: int = 0
    """Points left out because a later attempt took their steps over."""

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Attempt:
    """One start, resume, rewind or fork of a run."""

    number: int
    cause: str
    from_step: int | None
    """As given; the first step it logged where none was given; None where it has logged nothing."""
    from_attempt: int | None
    start_ns: int
    end_ns: int | None
    """None while it runs, or where it never ended in good order."""
    outcome: str | None
    reason: str | None
    config: dict[str, Any]


@dataclass(frozen=True)
class Other:
    """Something logged under a key that is no number."""

    key: str
    attempt: int
    sequence: int
    step: int
    time_ns: int
    value: Any


class RunView:
    """One run of a record, as it is at the last refresh."""

    def __init__(self, run: str) -> None:
        self.id = run
        self.created_ns = 0
        self._writers: dict[int, dict[str, WriterView]] = {}
        self._events: list[Event] | None = None
        self._attempts: list[Attempt] | None = None

    @property
    def role(self) -> str:
        """`run`, `rung`, `hero` or `campaign`, as the first attempt said."""
        return self._first_start().get("role", "run")

    @property
    def name(self) -> str:
        """The run's name for people; its id where none was given."""
        return self._first_start().get("name") or self.id

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the last attempt that has one."""
        return next((attempt.config for attempt in reversed(self.attempts) if attempt.config), {})

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt that has begun, in order."""
        if self._attempts is None:
            found = [self._attempt(number) for number in sorted(self._writers)]
            self._attempts = [attempt for attempt in found if attempt is not None]
        return self._attempts

    def keys(self) -> list[str]:
        """Every key with a number, in order of first appearance."""
        return list(dict.fromkeys(key for *_, view in self._all_writers() for key in view.keys()))  # noqa: SIM118

    def series(self, key: str, attempt: int | None = None) -> Series:
        """The history of a key: what the run's default view shows, or all that one attempt logged.

        Raises:
            KeyError: no such key or attempt; names the nearest.
        """
        if attempt is not None and attempt not in self._writers:
            raise KeyError(f"run {self.id!r} has no attempt {attempt}; it has {sorted(self._writers)}")
        shown = self.lineage() if attempt is None else [Visible(attempt, FIRST_OF_ALL, LAST_OF_ALL)]
        hidden = [] if attempt else [Visible(n, 0, 0) for n in self._writers if n not in {one.attempt for one in shown}]
        found = [part for one in shown + hidden if (part := self._part(key, one)) is not None]
        if not found and (attempt is None or key not in self.keys()):
            raise KeyError(f"run {self.id!r} has no key {key!r}; nearest: {nearest(key, self.keys())}")
        return _joined(found)

    def exact(self, key: str, attempt: int | None = None) -> list[int | float | bool]:
        """The points of `series(key, attempt)` with the types they were logged with; integers of any size.

        Raises:
            KeyError: no such key or attempt; names the nearest.
        """
        series = self.series(key, attempt)
        kinds = {
            (number, writer, sequence): (letter, value)
            for number, writer, view in self._all_writers()
            for sequence, letter, value in view.exact(key)
        }
        names = [sorted(self._writers[number]) for number in series.attempts.tolist()]
        points = zip(series.attempts.tolist(), names, series.writers.tolist(), series.sequences.tolist(), strict=True)
        typed = [kinds[number, writers[index], sequence] for number, writers, index, sequence in points]
        return [_typed(value, *kind) for value, kind in zip(series.values.tolist(), typed, strict=True)]

    def events(self, kind: str | None = None) -> list[Event]:
        """Every event, or those of one kind, by attempt and sequence."""
        if self._events is None:
            self._events = [
                Event(f.kind, self.id, number, writer, sequence, f.time_ns, f.step, decode(f.fields))
                for number, writer, view in self._all_writers()
                for sequence, f in view.facts()
                if f.kind is not None
            ]
            self._events.sort(key=lambda event: (event.attempt, event.sequence))
        return [event for event in self._events if kind is None or event.kind == kind]

    def others(self) -> list[Other]:
        """What was logged under a key and is no number, by attempt and sequence."""
        return [
            Other(key, number, sequence, f.step or 0, f.time_ns, decode(value))
            for number, _, view in self._all_writers()
            for sequence, f in view.facts()
            if f.kind is None
            for key, value in f.fields.items()
        ]

    def lineage(self) -> list[Visible]:
        """Which steps of which attempt the default view shows."""
        return visible([Beginning(a.number, a.from_step, a.from_attempt) for a in self.attempts])

    def pieces(self, key: str, attempt: int) -> list[Piece]:
        """The points of a key that an attempt logged, as they lie in segments and logs."""
        writers = self._writers.get(attempt, {})
        return [piece for name in sorted(writers) for piece in writers[name].pieces(key)]

    def writers(self) -> list[WriterView]:
        """The run's writers, by attempt and name: what `tiles` and `verify` read."""
        return [view for *_, view in self._all_writers()]

    def refresh(self, record: Path) -> bool:
        """Read what is new; whether anything was."""
        new = False
        for number in layout.attempts_of(record, self.id):
            known = self._writers.setdefault(number, {})
            for place in layout.writers_of(record, self.id, number):
                if place.writer not in known:
                    known[place.writer] = WriterView(place)
            for writer in known.values():
                new |= writer.refresh()
        if new:
            self._events = self._attempts = None
        if not self.created_ns and self._writers:
            self.created_ns = min((e.time_ns for e in self.events("attempt.start")), default=0)
        return new

    def _all_writers(self) -> Iterator[tuple[int, str, WriterView]]:
        for number in sorted(self._writers):
            for name in sorted(self._writers[number]):
                yield number, name, self._writers[number][name]

    def _first_start(self) -> dict[str, Any]:
        starts = self.events("attempt.start")
        return dict(starts[0].fields) if starts else {}

    def _attempt(self, number: int) -> Attempt | None:
        events = [event for event in self.events() if event.attempt == number]
        start = next((event for event in events if event.kind == "attempt.start"), None)
        if start is None:
            return None
        end = next((event for event in events if event.kind == "attempt.end"), None)
        configs = [event.fields["config"] for event in events if event.kind == "config"]
        from_step = start.fields.get("from_step")
        if from_step is None:
            firsts = [step for w in self._writers[number].values() if (step := w.first_step()) is not None]
            from_step = min(firsts, default=None)
        return Attempt(
            number=number,
            cause=start.fields["cause"],
            from_step=from_step,
            from_attempt=start.fields.get("from_attempt"),
            start_ns=start.time_ns,
            end_ns=end.time_ns if end else None,
            outcome=end.fields["outcome"] if end else None,
            reason=end.fields.get("reason") if end else None,
            config=configs[-1] if configs else {},
        )

    def _part(self, key: str, shown: Visible) -> Series | None:
        """What the view shows of one attempt."""
        writers = self._writers.get(shown.attempt, {})
        pieces = [(i, p) for i, name in enumerate(sorted(writers)) for p in writers[name].pieces(key)]
        if not pieces:
            return None
        steps = np.concatenate([piece.steps for _, piece in pieces])
        sequences = np.concatenate([piece.sequences for _, piece in pieces])
        of_writer = np.concatenate([np.full(len(piece.steps), i, np.int64) for i, piece in pieces])
        order = np.lexsort((sequences, of_writer, steps))
        last = np.append(np.diff(steps[order]) != 0, True)
        order = order[last]
        inside = (steps[order] >= shown.first_step) & (steps[order] < min(shown.end_step, LAST_OF_ALL - 1))
        kept = order[inside]
        return Series(
            steps=steps[kept],
            values=np.concatenate([piece.values() for _, piece in pieces])[kept],
            times_ns=np.concatenate([piece.times_ns for _, piece in pieces])[kept],
            attempts=np.full(len(kept), shown.attempt, np.int64),
            writers=of_writer[kept],
            sequences=sequences[kept],
            num_overwritten=len(steps) - len(order),
            num_superseded=len(order) - len(kept),
        )


class Record:
    """A record, as of the last refresh."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = layout.read_header(path)
        self._views: dict[str, RunView] = {}
        self.runs: dict[str, RunView] = {}
        self.campaign: RunView | None = None
        self.refresh()

    def refresh(self) -> bool:
        """Read what is new, at the cost of what is new; whether anything was."""
        new = False
        for run in layout.runs_of(self.path):
            view = self._views.setdefault(run, RunView(run))
            new |= view.refresh(self.path)
        begun = sorted((v for v in self._views.values() if v.created_ns), key=lambda v: (v.created_ns, v.id))
        self.campaign = next((view for view in begun if view.role == "campaign"), None)
        self.runs = _Runs({view.id: view for view in begun if view.role != "campaign"})
        return new


class _Runs(dict[str, RunView]):
    """Runs by id, whose KeyError names the nearest."""

    def __missing__(self, run: str) -> RunView:
        raise KeyError(f"the record has no run {run!r}; nearest: {nearest(run, self)}")


def open_record(path: str | Path) -> Record:
    """The record in `path`, or in its folder `record`.

    Raises:
        RecordError: there is none, it is damaged, or of a newer format.
    """
    return Record(layout.find_record(Path(path)))


def _joined(parts: list[Series]) -> Series:
    if len(parts) == 1:
        return parts[0]
    empty = np.empty(0, np.int64)
    return Series(
        steps=np.concatenate([empty, *(p.steps for p in parts)]),
        values=np.concatenate([np.empty(0), *(p.values for p in parts)]),
        times_ns=np.concatenate([empty, *(p.times_ns for p in parts)]),
        attempts=np.concatenate([empty, *(p.attempts for p in parts)]),
        writers=np.concatenate([empty, *(p.writers for p in parts)]),
        sequences=np.concatenate([empty, *(p.sequences for p in parts)]),
        num_overwritten=sum(p.num_overwritten for p in parts),
        num_superseded=sum(p.num_superseded for p in parts),
    )


def _typed(value: float, letter: str, exact: Any) -> int | float | bool:
    if exact is not None:
        return decode(exact)
    return bool(value) if letter == "b" else int(value) if letter == "i" else value
