"""One key's history as arrays: which points of which writer count, and how writers are joined where that is declared.

Inside an attempt the last point of a writer for a step counts, the others are counted as overwritten. Two writers of a
key are two series that lie together, by step and writer. Samples in time (axis `time`) overwrite nothing. Values are
read only of stretches of which something is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fanal.errors import RecordError
from fanal.record.reading.writer_view import Piece

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
JOINED = -1
"""The writer of a point that was made of several writers' points."""


@dataclass(frozen=True)
class Origin:
    """Where the points of an attempt come from."""

    run: str
    attempt: int
    """Its number in that run."""
    writers: tuple[str, ...]
    """The attempt's writers, by name: what `Series.writers` counts."""


@dataclass(frozen=True)
class Series:
    """One key's history, by step; of samples in time, by attempt and time."""

    steps: Ints
    values: Floats
    times_ns: Ints
    attempts: Ints
    """The attempt that logged each point, as numbered in the run's `attempts`."""
    writers: Ints
    """The writer inside the attempt, in order of their names; -1 where several were joined."""
    sequences: Ints
    """Each point's number in its writer; of joined points, the first writer's."""
    num_overwritten: int = 0
    """Points left out because the same writer logged the key again for the same step."""
    num_superseded: int = 0
    """Points left out because a later attempt took their steps over."""
    num_joined: int = 0
    """Points that were joined with another writer's for the same step."""
    origins: Mapping[int, Origin] = field(default_factory=dict[int, Origin])
    """Run, attempt in that run and writers, by the number in `attempts`."""

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Stretch:
    """Steps of an attempt's points that are wanted."""

    number: int
    """The attempt, as numbered in the run's `attempts`."""
    first_step: int
    end_step: int
    by_time: bool
    """Samples in time: every point counts, in order of time."""


def series_of(pieces: Sequence[tuple[int, Piece]], wanted: Stretch) -> Series | None:
    """The points of one attempt that are wanted; None where it has none of the key. A piece stands with its writer."""
    if not pieces:
        return None
    steps = np.concatenate([piece.steps for _, piece in pieces])
    times_ns = np.concatenate([piece.times_ns for _, piece in pieces])
    sequences = np.concatenate([piece.sequences for _, piece in pieces])
    writers = np.repeat([writer for writer, _ in pieces], [len(piece.steps) for _, piece in pieces])
    if wanted.by_time:
        order = np.lexsort((writers, sequences, times_ns))
    elif _in_order(pieces):
        order = np.arange(len(steps))
    else:
        order = np.lexsort((sequences, writers, steps))
        order = order[np.append((np.diff(steps[order]) != 0) | (np.diff(writers[order]) != 0), True)]
    kept = order[(steps[order] >= wanted.first_step) & _below(steps[order], wanted.end_step)]
    return Series(
        steps=steps[kept],
        values=_values(pieces, kept),
        times_ns=times_ns[kept],
        attempts=np.full(len(kept), wanted.number, np.int64),
        writers=writers[kept],
        sequences=sequences[kept],
        num_overwritten=len(steps) - len(order),
        num_superseded=len(order) - len(kept),
    )


@dataclass(frozen=True)
class Edge:
    """The last or first point of what is wanted, and where its value lies."""

    writer: int
    sequence: int
    piece: Piece
    at: int


def edge_of(pieces: Sequence[tuple[int, Piece]], wanted: Stretch, last: bool) -> Edge | None:
    """The last (or first) point by step and writer; None where there is none. No value is read."""
    found: list[tuple[tuple[int, int, int], Edge]] = []
    for writer, piece in pieces:
        inside = np.flatnonzero((piece.steps >= wanted.first_step) & _below(piece.steps, wanted.end_step))
        if len(inside):
            steps = piece.steps[inside]
            at = int(inside[np.flatnonzero(steps == (steps.max() if last else steps.min()))[-1]])
            step, sequence, sign = int(piece.steps[at]), int(piece.sequences[at]), 1 if last else -1
            found.append(((sign * step, sign * writer, sequence), Edge(writer, sequence, piece, at)))
    return max(found, key=lambda one: one[0])[1] if found else None


def _in_order(pieces: Sequence[tuple[int, Piece]]) -> bool:
    """One writer whose steps rise throughout, as nearly all do: there is nothing to sort."""
    filled = [piece for _, piece in pieces if len(piece.steps)]
    if len({writer for writer, _ in pieces}) > 1 or not all(piece.rising for piece in filled):
        return False
    return all(a.steps[-1] < b.steps[0] for a, b in pairwise(filled))


def _below(steps: Ints, end_step: int) -> NDArray[np.bool_]:
    return steps < end_step if end_step < 1 << 63 else np.ones(len(steps), np.bool_)


def _values(pieces: Sequence[tuple[int, Piece]], kept: Ints) -> Floats:
    """The values at `kept`, counted through all pieces; pieces with none of them are not read."""
    values = np.empty(sum(len(piece.steps) for _, piece in pieces))
    wanted = np.zeros(len(values), np.bool_)
    wanted[kept] = True
    start = 0
    for _, piece in pieces:
        end = start + len(piece.steps)
        if wanted[start:end].any():
            values[start:end] = piece.values()
        start = end
    return values[kept]


def together(parts: Sequence[Series]) -> Series:
    """The parts one after the other."""
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


def reduced(key: str, series: Series, how: str) -> Series:
    """One point a step where several writers logged it, as its metric declares: `mean`, `max` or `same`.

    NaN of one writer is NaN of the result.

    Raises:
        RecordError: writers of a key declared `same` differ; names the step and the values.
    """
    new = (np.diff(series.steps) != 0) | (np.diff(series.attempts) != 0)
    starts = np.flatnonzero(np.append(True, new)) if len(series) else np.empty(0, np.int64)
    if len(starts) == len(series):
        return series
    sizes = np.diff(np.append(starts, len(series)))
    if how == "mean":
        values = series.values[starts]
        for nth in range(1, int(sizes.max())):  # in order of writers, so that any reader gets the same bits
            more = sizes > nth
            with np.errstate(invalid="ignore"):  # infinities of both signs make NaN
                values[more] += series.values[starts[more] + nth]
        values /= sizes
    else:
        values = np.maximum.reduceat(series.values, starts)
        if how == "same":
            _check_same(key, series, values, sizes)
    return replace(
        series,
        steps=series.steps[starts],
        values=values,
        times_ns=np.maximum.reduceat(series.times_ns, starts),
        attempts=series.attempts[starts],
        writers=np.where(sizes > 1, JOINED, series.writers[starts]),
        sequences=series.sequences[starts],
        num_joined=len(series) - len(starts),
    )


def _check_same(key: str, series: Series, values: Floats, sizes: Ints) -> None:
    wanted = np.repeat(values, sizes)
    differ = np.flatnonzero((series.values != wanted) & ~(np.isnan(series.values) & np.isnan(wanted)))
    if len(differ):
        at = (series.steps == series.steps[differ[0]]) & (series.attempts == series.attempts[differ[0]])
        raise RecordError(
            f"{key!r} is declared the same of all writers, and at step {series.steps[differ[0]]} they logged "
            f"{', '.join(map(repr, series.values[at].tolist()))}: read it with writer=…, or declare another reduction"
        )
