"""The values that stand for a whole run: set by the script, or worked out of the default view as its metrics declare.

The last point of each key where nothing is declared. Minimum, maximum, mean and best are of points that are numbers
(NaN is none), NaN where there are none; first and last are what was logged, whatever it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanal.record.events import Event
from fanal.record.reading.meaning import Metric
from fanal.record.reading.series import Floats


@dataclass(frozen=True)
class Other:
    """Something logged under a key that is no number."""

    key: str
    attempt: int
    sequence: int
    step: int
    time_ns: int
    value: Any


@dataclass(frozen=True)
class Points:
    """How a summary asks for a key's points."""

    edge: Callable[[str, bool], Any]
    """The last (or first) point, with its type."""
    values: Callable[[str], Floats]
    """All of them."""


def summary_of(
    metrics: Sequence[Metric], points: Points, odd: Sequence[Other], said: Sequence[Event]
) -> dict[str, Any]:
    """By name, the values that stand for the run; `odd` and `said` (`summary` events) in order."""
    found = {m.key: _value(m, points) for m in metrics if m.summary != "none"}
    found |= {other.key: other.value for other in odd if other.key not in found}
    for event in said:
        found |= event.fields["values"]
    return found


def _value(metric: Metric, points: Points) -> Any:
    """What the metric declares; of several ways (`min,max`) each by its name."""
    ways = (metric.summary or "last").split(",")
    return _one(metric, ways[0], points) if len(ways) == 1 else {way: _one(metric, way, points) for way in ways}


def _one(metric: Metric, how: str, points: Points) -> Any:
    if how == "best":
        how = "max" if metric.lower_is_better is False else "min"
    if how not in ("min", "max", "mean"):
        return points.edge(metric.key, how != "first")
    values = points.values(metric.key)
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return float("nan")
    return float({"min": np.min, "max": np.max, "mean": np.mean}[how](numbers))
