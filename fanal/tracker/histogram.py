"""`Histogram`: counts and edges of bins, worked out here from numbers, or given.

Numbers that are not finite are in no bin and counted beside. No NumPy is loaded: arrays that bring theirs along are
binned by it, lists by Python.
"""

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from fanal.record.scalars import as_number
from fanal.record.values import Media
from fanal.tracker.errors import UsageError, shown

MAX_BINS = 512


class Histogram:
    """The distribution of some numbers."""

    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64, nonfinite: int = 0) -> None:
        if (sequence is None) == (np_histogram is None):
            raise UsageError("Histogram takes numbers, or np_histogram=(counts, edges)")
        if np_histogram is not None:
            counts, edges = np_histogram
            self.histogram, self.bins, self.nonfinite = _plain(counts), _plain(edges), nonfinite
            if self.bins and len(self.bins) != len(self.histogram) + 1:
                raise UsageError(f"Histogram: {len(self.histogram)} counts need one edge more, got {len(self.bins)}")
            return
        if (number := as_number(num_bins)) is None or not 1 <= number <= MAX_BINS:
            raise UsageError(f"Histogram: num_bins must be 1 to {MAX_BINS}, got {shown(num_bins)}")
        try:
            self.histogram, self.bins, self.nonfinite = _binned(sequence, num_bins)
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"Histogram: sequence must be numbers, got {shown(sequence)}: {error}") from error

    def to_record(self, run: Any) -> Media:
        """Counts and edges."""
        del run
        return Media({"$media": "histogram", "counts": self.histogram, "edges": self.bins, "nonfinite": self.nonfinite})


def _plain(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _binned(sequence: Any, num_bins: int) -> tuple[list[int], list[float], int]:
    """Counts, edges, and how many numbers are not finite."""
    if hasattr(sequence, "detach"):  # a tensor of PyTorch
        sequence = sequence.detach().cpu().flatten().float().numpy()
    numpy = sys.modules.get("numpy")
    if numpy is not None and (hasattr(sequence, "__array__") or isinstance(sequence, list | tuple)):
        array = numpy.asarray(sequence, dtype=float).ravel()
        finite = array[numpy.isfinite(array)]
        counts, edges = numpy.histogram(finite, bins=num_bins)
        return counts.tolist(), edges.tolist(), int(array.size - finite.size)
    return binned_in_python([float(value) for value in _flat(sequence)], num_bins)


def binned_in_python(values: Sequence[float], num_bins: int) -> tuple[list[int], list[float], int]:
    """Counts, edges, and how many are not finite; equal to NumPy's but for edges' last digit."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = [low + (high - low) * i / num_bins for i in range(num_bins)] + [high]
    counts = [0] * num_bins
    for value in finite:
        counts[min(bisect_right(edges, value) - 1, num_bins - 1)] += 1
    return counts, edges, len(values) - len(finite)


def _flat(values: Any) -> Iterable[Any]:
    for value in values.tolist() if hasattr(values, "tolist") else values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value
