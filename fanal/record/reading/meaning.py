"""What a key means and how it is shown: `metric` events, and under them what Fanal says of its own keys.

Of several that match a key the later counts, field by field: first the campaign's, then the run's own, then what was
said about the record afterwards (its journal). A pattern is a key itself or has `*` (`fnmatch`, case counts).
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from fanal.record.events import Event
from fanal.record.metrics import describe


@dataclass(frozen=True)
class Metric:
    """One key: its meaning, and how it is read and shown; None where nobody said."""

    key: str
    text: str | None = None
    """What it means."""
    unit: str | None = None
    better: str | None = None
    """`lower` or `higher`."""
    source: str | None = None
    """File and line that log it."""
    reduce: str | None = None
    """How writers of one step are joined: `mean`, `max` or `same`."""
    axis: str | None = None
    """`step`, or `time` for samples that belong to no step."""
    step_metric: str | None = None
    """The key whose values are its horizontal axis."""
    summary: str | None = None
    """Which value stands for the run; the last where None."""
    goal: str | None = None
    """`minimize` or `maximize`."""
    hidden: bool | None = None

    @property
    def lower_is_better(self) -> bool | None:
        """Whether lower values are better; None where nobody said."""
        said = {"minimize": True, "maximize": False, "lower": True, "higher": False}
        return said.get(self.goal or self.better or "")


_NAMES = frozenset(field.name for field in fields(Metric)) - {"key"}


def matches(pattern: str, key: str) -> bool:
    """Whether a metric's pattern means a key."""
    return pattern == key or fnmatchcase(key, pattern)


def meaning(key: str, said: Iterable[Event]) -> Metric:
    """What `metric` events, earliest first, say of a key."""
    known: dict[str, object] = {}
    own = describe(key)
    if own is not None:
        known |= {"text": own.text, "unit": own.unit or None, "better": own.better or None}
    for event in said:
        if matches(event.fields["pattern"], key):
            known |= {n: value for n, value in event.fields.items() if n in _NAMES and value is not None}
    return Metric(key, **known)  # pyright: ignore[reportArgumentType]  the table of kinds has their types
