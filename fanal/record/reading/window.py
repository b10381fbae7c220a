"""Any stretch of a run's default view in at most so many buckets, from tiles where there are some and raw elsewhere.

Count, non-finite count, minimum and maximum of a bucket equal those of the exact points, so that no spike and no NaN
hides at any zoom. Reads the widest tiles that fit, and points at the edges only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.record.reading.read import RunView, Series
from fanal.record.segments import tiles
from fanal.record.segments.segment import Segment, Slot


@dataclass(frozen=True)
class Buckets:
    """Consecutive stretches of a series, by step; arrays of equal length."""

    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    counts: NDArray[np.int64]
    nonfinite: NDArray[np.int64]
    minima: NDArray[np.float64]
    """Of finite values; NaN where there are none."""
    maxima: NDArray[np.float64]
    means: NDArray[np.float64]
    num_read: int
    """Tiles and points that were read to make these."""


def window(view: RunView, key: str, first: int, last: int, max_buckets: int) -> Buckets:
    """What the run's default view shows of a key from step `first` to `last` (included), in so many buckets at most.

    Raises:
        KeyError: no such key; names the nearest.
        ValueError: less than one bucket.
    """
    if max_buckets < 1:
        raise ValueError(f"max_buckets must be at least 1, got {max_buckets}")
    parts = [_in_time(view, key, first, last)] if view.metric(key).axis == "time" else []
    for shown in [] if parts else view.lineage():
        low, high = max(shown.first_step, first), min(shown.end_step - 1, last)
        if low <= high:
            parts += _parts(view, key, shown.attempt, low, high)
    if not parts:
        view.series(key)
    num_points = sum(part.end - part.start for part in parts)
    target = max(-(-num_points // max_buckets), 1)
    return _merged([atom for part in parts for atom in part.atoms(target)], target)


@dataclass(frozen=True)
class _Atoms:
    """Buckets before they are merged; sums of finite values instead of means."""

    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    counts: NDArray[np.int64]
    nonfinite: NDArray[np.int64]
    minima: NDArray[np.float64]
    maxima: NDArray[np.float64]
    sums: NDArray[np.float64]


@dataclass(frozen=True)
class _Part:
    """Points `start` to `end` of a piece whose steps rise; `tiles` is where they are reduced already."""

    steps: NDArray[np.int64]
    values: Callable[[], NDArray[np.float64]]
    start: int
    end: int
    tiles: tuple[Segment, Slot] | None = None

    def atoms(self, target: int) -> Iterator[_Atoms]:
        """The points as the widest tiles of at most `target` rows, and raw at the edges."""
        widths: list[int] = []
        if self.tiles:
            num_rows, num = len(self.steps), self.tiles[1].num
            widths = tiles.level_rows(
                num_rows, next(level for level in (0, tiles.LONG_LEVEL) if tiles.num_buckets(num_rows, level) == num)
            )
        usable = [level for level, width in enumerate(widths) if width <= target]
        yield from self._cover(self.start, self.end, usable, widths)

    def _cover(self, start: int, end: int, levels: list[int], widths: list[int]) -> Iterator[_Atoms]:
        if start >= end:
            return
        if not levels:
            yield _raw(self.steps[start:end], self.values()[start:end])
            return
        width = widths[levels[-1]]
        first = -(-start // width)
        after = -(-end // width) if end == len(self.steps) else end // width
        if first >= after:
            yield from self._cover(start, end, levels[:-1], widths)
            return
        yield from self._cover(start, first * width, levels[:-1], widths)
        yield self._level(levels[-1], first, after, widths)
        yield from self._cover(after * width, end, levels[:-1], widths)

    def _level(self, level: int, first: int, after: int, widths: list[int]) -> _Atoms:
        assert self.tiles is not None, "levels are used only where there are tiles"
        segment, slot = self.tiles
        offset = sum(-(-len(self.steps) // width) for width in widths[:level])
        stretch = slice(offset + first, offset + after)
        nonfinite = segment.counts(slot, "nonfinite")[stretch]
        minima, maxima, means = (segment.floats(slot, name)[stretch] for name in ("min", "max", "mean"))
        starts = np.arange(first, after) * widths[level]
        ends = np.minimum(starts + widths[level], len(self.steps))
        finite = ends - starts - nonfinite
        sums = np.where(finite > 0, means * finite, 0.0)
        return _Atoms(self.steps[starts], self.steps[ends - 1], ends - starts, nonfinite, minima, maxima, sums)


def _parts(view: RunView, key: str, attempt: int, low: int, high: int) -> list[_Part]:
    """The pieces of an attempt that lie in a window; as one raw piece where steps went back or writers mix."""
    pieces: list[_Part] = []
    last = None
    for piece in view.pieces(key, attempt):
        if not piece.rising or (last is not None and piece.steps[0] <= last):
            return [_whole(view.series(key, attempt), low, high)]
        last = int(piece.steps[-1])
        start, end = np.searchsorted(piece.steps, (low, high + 1))
        if start < end:
            pieces.append(_Part(piece.steps, piece.values, int(start), int(end), piece.tiles))
    return pieces


def _in_time(view: RunView, key: str, first: int, last: int) -> _Part:
    """Samples of a key whose axis is time: all of every attempt, by the step at which they were taken."""
    series = view.series(key)
    order = np.argsort(series.steps, kind="stable")
    steps, values = series.steps[order], series.values[order]
    start, end = np.searchsorted(steps, (first, last + 1))
    return _Part(steps, lambda: values, int(start), int(end))


def _whole(series: Series, low: int, high: int) -> _Part:
    start, end = np.searchsorted(series.steps, (low, high + 1))
    return _Part(series.steps, lambda: series.values, int(start), int(end))


def _raw(steps: NDArray[np.int64], values: NDArray[np.float64]) -> _Atoms:
    finite = np.isfinite(values)
    shown = np.where(finite, values, np.nan)
    ones = np.ones(len(steps), np.int64)
    return _Atoms(steps, steps, ones, ones - finite, shown, shown, np.where(finite, values, 0.0))


def _merged(atoms: list[_Atoms], target: int) -> Buckets:
    """Neighbouring atoms together until each bucket but the last has at least `target` points."""
    columns: dict[str, Any] = {
        f.name: np.concatenate([getattr(a, f.name) for a in atoms] or [np.empty(0)]) for f in fields(_Atoms)
    }
    num_atoms = len(columns["counts"])
    if num_atoms == 0:
        whole, real = np.empty(0, np.int64), np.empty(0)
        return Buckets(whole, whole, whole, whole, real, real, real, 0)
    starts, held = [0], 0
    for atom, count in enumerate(columns["counts"].tolist()):
        if held >= target:
            starts.append(atom)
            held = 0
        held += count
    ends = np.array([*starts[1:], num_atoms]) - 1
    counts = np.add.reduceat(columns["counts"], starts)
    nonfinite = np.add.reduceat(columns["nonfinite"], starts)
    sums = np.add.reduceat(columns["sums"], starts)
    return Buckets(
        first_steps=columns["first_steps"][starts],
        last_steps=columns["last_steps"][ends],
        counts=counts,
        nonfinite=nonfinite,
        minima=np.fmin.reduceat(columns["minima"], starts),
        maxima=np.fmax.reduceat(columns["maxima"], starts),
        means=np.where(counts > nonfinite, sums / np.maximum(counts - nonfinite, 1), np.nan),
        num_read=num_atoms,
    )
