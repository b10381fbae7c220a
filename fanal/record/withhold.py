"""What is withheld from a published record: patterns of the writing side, and what of a row or an event they hold back.

A pattern matches a metric key, `event:<kind>` or `config:<key>`. Things withheld go to a writer of their own, whose
owner file gives the reason; nobody but the writing process knows the patterns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Withhold:
    """A pattern, and why what it matches is not published."""

    pattern: str
    reason: str

    def __post_init__(self) -> None:
        if not self.reason or not self.reason.strip():
            raise ValueError(f"withhold {self.pattern!r} has no reason: say why what it matches is not published")


BY_DEFAULT = (Withhold("event:process", "names people, machines and paths"),)


def reason_for(rules: Iterable[Withhold], name: str) -> str | None:
    """Why `name` is withheld; None where it is public."""
    return next((rule.reason for rule in rules if fnmatchcase(name, rule.pattern)), None)


def reason_for_pattern(rules: Iterable[Withhold], pattern: str) -> str | None:
    """Why what speaks of the keys of `pattern` is withheld: a rule matches it, or it matches a rule; None if public."""
    rules = tuple(rules)
    found = reason_for(rules, pattern)
    return found if found is not None else next((r.reason for r in rules if fnmatchcase(r.pattern, pattern)), None)


def parts(rules: tuple[Withhold, ...], names: Iterable[tuple[T, str]]) -> dict[str | None, list[T]]:
    """The things of each reason, the public ones under None; each thing comes with the name that patterns match."""
    found: dict[str | None, list[T]] = {}
    for thing, name in names:
        found.setdefault(reason_for(rules, name), []).append(thing)
    return found
