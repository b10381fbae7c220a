"""What an importer's source gives: rows, odd values and events in the source's order, in batches that end at a place.

Each item becomes exactly one frame of the record, so that values counted there say which items are in: this is how an
import that was killed goes on without repeating or losing one. A source is read again and again for what is new.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from fanal.importers.findings import Findings

Cursor = dict[str, Any]
"""A place in a source, as JSON; what is in it is the source's own matter."""
PLAIN = frozenset((float, int, bool))


class Row(NamedTuple):
    """Numbers of one step; a time of 0 says that the source has none."""

    step: int
    time_ns: int
    values: Mapping[str, Any]


class Odd(NamedTuple):
    """Values of one step that are no plain numbers."""

    step: int
    time_ns: int
    values: Mapping[str, Any]


class Fact(NamedTuple):
    """An event; one whose kind is in `REPEATABLE` may come twice after a kill, which changes nothing."""

    kind: str
    fields: Mapping[str, Any]
    step: int | None = None
    time_ns: int = 0


Item = Row | Odd | Fact
OWN_KINDS = ("attempt.start", "attempt.end", "gap", "import.state", "imported", "recovered")
REPEATABLE = frozenset((*OWN_KINDS, "config", "environment", "file", "process", "summary"))
"""What the record and the importer write at times of their own, and kinds whose last one counts: neither is counted."""


@dataclass
class Begin:
    """A new attempt of the run begins here."""

    from_step: int | None
    time_ns: int = 0


@dataclass
class Batch:
    """Items that lie before `cursor`; one with `begin` has none, and what follows belongs to a new attempt."""

    items: list[Item]
    cursor: Cursor
    begin: Begin | None = None


@dataclass(frozen=True)
class Content:
    """Bytes for a blob, as the value of a fact's field."""

    data: bytes
    media_type: str = "text/plain; charset=utf-8"


@dataclass
class About:
    """What a run is called and how it was set up, as far as its source says."""

    id: str
    name: str | None = None
    project: str | None = None
    group: str | None = None
    job_type: str | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    config: Mapping[str, Any] | None = None
    outcome: str = "finished"
    reason: str | None = None


class RunSource(Protocol):
    """One run of a source."""

    findings: Findings

    def about(self) -> About:
        """What the run is called."""
        ...

    def owns(self, cursor: Cursor) -> bool:
        """Whether a place that an earlier import kept is one of this very source."""
        ...

    def cursor(self) -> Cursor:
        """The place in the source, by which `owns` knows it."""
        ...

    def seek(self, cursor: Cursor) -> None:
        """Go on from a place that `owns` knew."""
        ...

    def close(self) -> None:
        """No more will come: what waited to be understood is decided with what is there."""
        ...

    def renew(self, found: Any) -> None:
        """Take over the files of the same run that a later look found."""
        ...

    def read(self) -> Iterator[Batch]:
        """What has been added since the last call."""
        ...


def weight(item: Item) -> int:
    """What an item adds to the count that tells how far an import came: its values, 1 for what is no row."""
    if isinstance(item, Row):
        return len(item.values)
    return 0 if isinstance(item, Fact) and item.kind in REPEATABLE else 1


def after(items: list[Item], skipped: int) -> list[Item]:
    """What follows the first `skipped` of what `weight` counts; a row may be cut between its values."""
    at = 0
    while skipped:
        item = items[at]
        heavy = weight(item)
        if isinstance(item, Row) and heavy > skipped:
            rest = dict(list(item.values.items())[skipped:])
            return [Row(item.step, item.time_ns, rest), *items[at + 1 :]]
        skipped -= heavy
        at += 1
    return items[at:]


def split(step: int, time_ns: int, values: Mapping[str, Any]) -> list[Item]:
    """A row's plain numbers as one item, and what is none as another."""
    types = set(map(type, values.values()))
    if types <= PLAIN:
        return [Row(step, time_ns, values)] if values else []
    plain = {key: value for key, value in values.items() if type(value) in PLAIN}
    odd = {key: value for key, value in values.items() if key not in plain}
    return [Row(step, time_ns, plain), Odd(step, time_ns, odd)] if plain else [Odd(step, time_ns, odd)]
