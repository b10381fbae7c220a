"""Reduced history: buckets of 16·4^l rows with count, non-finite count, minimum, maximum and mean.

Made when a segment closes, from closed rows only, for groups of at least 256 rows; keys that need all of a float64
begin at 256 rows a bucket, since theirs compress so little. Count, non-finite count, minimum and maximum are exact; the
mean is kept to 16 bits. `window.py` reads them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BASE_ROWS = 16
FACTOR = 4
LONG_LEVEL = 2
"""The first level of keys that need all of a float64."""
LEAST_ROWS = 256
"""Fewer rows are read as quickly as their tiles."""
BLOCK_KEYS = 256
"""Keys that are reduced together: as many as a fast memory holds."""
_KEPT_MEAN_BITS = np.uint64(0xFFFFFFF000000000)
_BEYOND_FLOAT32 = np.int64((1 << 29) - 1)


@dataclass(frozen=True)
class Level:
    """All buckets of one width, by bucket and key."""

    nonfinite: NDArray[np.int32]
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    mean: NDArray[np.float64]


def level_rows(num_rows: int, first_level: int) -> list[int]:
    """Rows of a bucket by level, for a group of so many rows; the last level is one bucket."""
    if num_rows < LEAST_ROWS:
        return []
    widths = [BASE_ROWS * FACTOR**first_level]
    while widths[-1] < num_rows:
        widths.append(widths[-1] * FACTOR)
    return widths


def num_buckets(num_rows: int, first_level: int) -> int:
    """Buckets of all levels of one key."""
    return sum(-(-num_rows // width) for width in level_rows(num_rows, first_level))


def first_levels(values_RK: NDArray[np.float64]) -> NDArray[np.int64]:
    """By key, 0 where the last 29 bits of every value are zero, as in what a float32 holds, else `LONG_LEVEL`."""
    used = np.bitwise_or.reduce(values_RK.view(np.int64), axis=0)
    return np.where(used & _BEYOND_FLOAT32, LONG_LEVEL, 0)


def build(values_RK: NDArray[np.float64]) -> list[Level]:
    """The buckets of every key of a group, level after level; each is made from the one below."""
    parts = [_base(values_RK[:, k : k + BLOCK_KEYS]) for k in range(0, values_RK.shape[1], BLOCK_KEYS)]
    held = _Reduced(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))
    levels: list[Level] = []
    for width in level_rows(len(values_RK), 0):
        held = _joined(held) if levels else held
        some = held.counts > 0
        levels.append(
            Level(
                nonfinite=bucket_sizes(len(values_RK), width)[:, None] - held.counts,
                min=np.where(some, held.lows, np.nan),
                max=np.where(some, held.highs, np.nan),
                mean=_rounded(np.where(some, _means(held), np.nan)),
            )
        )
    return levels


class _Reduced(NamedTuple):
    """The finite values of some rows, by bucket and key: ±Inf where there are none."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int32]


def _base(values_RK: NDArray[np.float64]) -> _Reduced:
    """Each `BASE_ROWS` rows of some keys."""
    finite = np.isfinite(values_RK)
    if finite.all():
        lows = highs = sums = values_RK
    else:
        lows, highs, sums = (np.where(finite, values_RK, other) for other in (np.inf, -np.inf, 0.0))
    with np.errstate(over="ignore"):
        return _Reduced(
            _by_base(np.minimum, lows),
            _by_base(np.maximum, highs),
            _by_base(np.add, sums),
            _by_base(np.add, finite.view(np.int8), np.int32),
        )


def _by_base(how: np.ufunc, part_RK: NDArray[Any], kind: type[Any] = np.float64) -> NDArray[Any]:
    """Every `BASE_ROWS` rows as one; the last may be short."""
    num_rows, num_keys = part_RK.shape
    whole = num_rows // BASE_ROWS * BASE_ROWS
    out = np.empty((-(-num_rows // BASE_ROWS), num_keys), kind)
    stacked = part_RK[:whole].reshape(-1, BASE_ROWS, num_keys)
    out[: len(stacked)] = stacked[:, 0]
    for row in range(1, BASE_ROWS):
        how(out[: len(stacked)], stacked[:, row], out=out[: len(stacked)])
    if whole < num_rows:
        how.reduce(part_RK[whole:], axis=0, out=out[-1])
    return out


def _joined(held: _Reduced) -> _Reduced:
    """Each `FACTOR` buckets as one."""
    starts = np.arange(0, len(held.counts), FACTOR)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = zip((np.minimum, np.maximum, np.add, np.add), held, strict=True)
        return _Reduced(*(how.reduceat(part, starts, axis=0, dtype=part.dtype) for how, part in parts))


def _means(held: _Reduced) -> NDArray[np.float64]:
    """Means of the finite values; the middle where their sum is beyond a float64."""
    means = held.sums / np.maximum(held.counts, 1)
    unsaid = ~np.isfinite(means)
    if unsaid.any():
        means[unsaid] = held.lows[unsaid] / 2 + held.highs[unsaid] / 2
    return means


def bucket_sizes(num_rows: int, width: int) -> NDArray[np.int32]:
    """Rows of each bucket of one level; the last may be short."""
    sizes = np.full(-(-num_rows // width), width, np.int32)
    sizes[-1] = num_rows - width * (len(sizes) - 1)
    return sizes


def _rounded(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means to 16 bits, which compress well and are for drawing only."""
    return (means.view(np.uint64) & _KEPT_MEAN_BITS).view(np.float64)
