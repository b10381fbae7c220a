"""What changed from one attempt to the next: configuration, code and cause, each with both values.

Values are equal only where their types are: 2 is not 2.0, true is not 1, and floats are held bit by bit (0.0 is not
-0.0, NaN is itself). Objects are compared name by name, lists as a whole.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, cast

from fanal.errors import RecordError
from fanal.record.reading.begun import Attempt
from fanal.record.reading.run_view import RunView
from fanal.record.values import encode

MAX_WORDS = 80
"""Characters of a value in a line of text."""


@dataclass(frozen=True)
class Change:
    """One value that differs."""

    what: str
    """`config`, `code` or `cause`."""
    path: tuple[str, ...]
    """Names from the outside in."""
    kind: str
    """`added`, `removed`, `changed` or `unreadable`."""
    before: Any = None
    after: Any = None

    @property
    def text(self) -> str:
        """The change in a line."""
        name = ".".join((self.what, *self.path))
        if self.kind == "added":
            return f"+ {name} = {_words(self.after)}"
        if self.kind == "removed":
            return f"- {name} = {_words(self.before)}"
        if self.kind == "unreadable":
            return f"? {name}: {self.after}"
        return f"~ {name}: {_words(self.before)} -> {_words(self.after)}"


@dataclass(frozen=True)
class Difference:
    """What changed between two attempts."""

    before: int
    """As numbered in the run's `attempts`."""
    after: int
    changes: tuple[Change, ...]

    @property
    def text(self) -> str:
        """The changes, one a line."""
        lines = [change.text for change in self.changes] or ["nothing changed"]
        return "\n".join([f"attempt {self.before} -> {self.after}", *(f"  {line}" for line in lines)])

    def to_json(self) -> dict[str, Any]:
        """The difference for programs, in strict JSON: values are written as the record writes them."""
        return encode(asdict(self))


def differences(view: RunView) -> list[Difference]:
    """What changed at each of a run's restarts, in order."""
    attempts = view.attempts
    return [compare(before, after) for before, after in pairwise(attempts)]


def compare(before: Attempt, after: Attempt) -> Difference:
    """What changed from one attempt to another."""
    changes = [*_config_changes(before, after), *_changes("code", before.code, after.code)]
    first, second = _cause(before), _cause(after)
    changes += _changes("cause", first, second)
    return Difference(before.number, after.number, tuple(changes))


def _config_changes(before: Attempt, after: Attempt) -> list[Change]:
    read: list[Mapping[str, Any]] = []
    for attempt in (before, after):
        try:
            read.append(attempt.config)
        except RecordError as error:
            return [Change("config", (), "unreadable", after=f"attempt {attempt.number}: {error}")]
    return list(_changes("config", read[0], read[1]))


def _cause(attempt: Attempt) -> dict[str, Any]:
    """How it began, and how the attempt itself ended: what a person asks at a restart mark."""
    told = {"cause": attempt.cause, "run": attempt.run, "outcome": attempt.outcome, "reason": attempt.reason}
    return {name: value for name, value in told.items() if value is not None}


def _changes(
    what: str, before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        inner = (*path, str(name))
        if name not in before:
            yield Change(what, inner, "added", after=after[name])
        elif name not in after:
            yield Change(what, inner, "removed", before=before[name])
        elif isinstance(before[name], Mapping) and isinstance(after[name], Mapping):
            yield from _changes(what, before[name], after[name], inner)
        elif not same(before[name], after[name]):
            yield Change(what, inner, "changed", before[name], after[name])


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in type and value; floats bit by bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    if isinstance(one, Mapping):
        mine, others = cast("Mapping[Any, Any]", one), cast("Mapping[Any, Any]", other)
        return mine.keys() == others.keys() and all(same(mine[name], others[name]) for name in mine)
    if isinstance(one, list | tuple):
        ours, theirs = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return one == other


def _words(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_WORDS else f"{text[: MAX_WORDS - 1]}…"
