"""Series of a record as charts take them: few numbers, all finite, nothing hidden.

A value that is not finite becomes null beside a mark that names its kind, so that strict JSON parsers
read it and a chart leaves a gap with a count. Dense series are drawn as buckets of least, mean and
most on a grid of steps that does not move while a run grows, so no spike hides. Costs one read of a
series a call. A row's step is the number of updates attempted when it was written.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fanal.record.reading.read import Series

MAX_BUCKETS = 500
DIGITS = 6


@dataclass(frozen=True)
class Mark:
    """Values that are not finite."""

    progress: float
    """Share of the run."""
    step: int
    """Step, or first step of the bucket."""
    kind: str
    """`NaN`, `Infinity` or `−Infinity`; of a bucket the first one found."""
    count: int
    """How many."""


@dataclass(frozen=True)
class Points:
    """Values that are drawn one by one."""

    progress: list[float]
    """Share of the run, 0 to 1."""
    step: list[int]
    """Updates attempted before the value was taken."""
    value: list[float | None]
    """Null where it is not finite; then `marks` has it."""
    marks: list[Mark]
    """The values that are not finite."""


@dataclass(frozen=True)
class Envelope:
    """A dense series in buckets."""

    bucket_steps: int
    """Steps of a bucket."""
    rows: int
    """Rows that went in."""
    progress: list[float]
    """Middle of each bucket that holds rows, as a share of the run."""
    low: list[float | None]
    """Least finite value; null where none is finite."""
    mean: list[float | None]
    """Mean of the finite values."""
    high: list[float | None]
    """Most."""
    marks: list[Mark]
    """Buckets that hold values which are not finite."""


def last_finite(series: Series | None) -> float | None:
    """The newest finite value, or None."""
    if series is None:
        return None
    finite = series.values[np.isfinite(series.values)]
    return float(finite[-1]) if finite.size else None


def brief(value: float | None) -> float | None:
    """`value` in six significant figures, or None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def kind_of(value: float) -> str:
    """The name of a value that is not finite."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "−Infinity"


def points(series: Series, num_steps: int) -> Points:
    """Every value of `series` over a run of `num_steps`."""
    rows = list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
    bad = [Mark(_share(s, num_steps), s, kind_of(v), 1) for s, v in rows if not math.isfinite(v)]
    return Points([_share(s, num_steps) for s, _ in rows], [s for s, _ in rows], [brief(v) for _, v in rows], bad)


def envelope(series: Series, num_steps: int, max_buckets: int = MAX_BUCKETS) -> Envelope:
    """`series` in at most `max_buckets` buckets of equal steps over the planned run."""
    span = max(num_steps, int(series.steps.max(initial=0)) + 1)
    width = -(-span // max_buckets)
    buckets = list(_buckets(series.steps, series.values, width))
    half = (width - 1) / 2
    marks = [Mark(_share(at, num_steps), at, kind_of(float(v[~np.isfinite(v)][0])), n) for at, v, n in buckets if n]
    finite = [v[np.isfinite(v)] for _, v, _ in buckets]
    return Envelope(
        bucket_steps=width,
        rows=len(series.steps),
        progress=[_share(at + half, num_steps) for at, _, _ in buckets],
        low=[brief(float(v.min())) if v.size else None for v in finite],
        mean=[brief(_mean(v)) if v.size else None for v in finite],
        high=[brief(float(v.max())) if v.size else None for v in finite],
        marks=marks,
    )


def bucket_means(series: Series, width: int, num_columns: int) -> list[float | None]:
    """Mean of the finite values in each of `num_columns` buckets of `width` steps, the first of them step 1."""
    columns = np.maximum(series.steps - 1, 0) // width
    kept = np.isfinite(series.values) & (columns < num_columns)
    columns, values = columns[kept], series.values[kept]
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    counts = np.bincount(columns, minlength=num_columns)
    sums = np.bincount(columns, weights=values / scale, minlength=num_columns)
    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    return [float(f"{total / count * scale:.3g}") if count else None for total, count in pairs]


def _buckets(steps: np.ndarray, values: np.ndarray, width: int) -> Iterator[tuple[int, np.ndarray, int]]:
    """First step, values and number of values that are not finite, of each bucket that holds rows."""
    if not len(steps):
        return
    order = np.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    numbers, starts = np.unique(steps // width, return_index=True)
    ends = [*starts[1:].tolist(), len(steps)]
    for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
        inside = values[start:end]
        yield number * width, inside, int(np.count_nonzero(~np.isfinite(inside)))


def _mean(values: np.ndarray) -> float:
    """Mean that does not overflow where values near the largest float are summed."""
    scale = float(np.abs(values).max())
    return float((values / scale).mean()) * scale if scale else 0.0


def _share(step: float, num_steps: int) -> float:
    return float(f"{step / max(1, num_steps):.6g}")
