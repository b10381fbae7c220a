"""The differences between what two trackers kept, and the table that gives each its reason.

The table is held both ways: a difference that it does not list is a fault, and so is a listed one that is gone.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peer.oracle.told import ABSENT, Told, same, words

TABLE = Path(__file__).parent / "differences.toml"
BETWEEN = "\n\n[[difference]]\n"
"""What stands before each entry of the table."""


@dataclass(frozen=True, order=True)
class Difference:
    """One place where the two differ."""

    script: str
    sitting: int
    """Which run of the script, or which attempt of one, in order of their beginning; 0 for the script as a whole."""
    place: str
    real: str
    ours: str


@dataclass(frozen=True)
class Listed:
    """A difference that is known, with its reason."""

    difference: Difference
    reason: str


def differences(script: str, real: Sequence[Told], ours: Sequence[Told]) -> list[Difference]:
    """Every difference, by sitting and place."""
    found: list[Difference] = []
    if len(real) != len(ours):
        found.append(Difference(script, 0, "sittings", str(len(real)), str(len(ours))))
    for number, (a, b) in enumerate(zip(real, ours, strict=False), 1):
        for place in sorted(a.keys() | b.keys()):
            pair = differing(a.get(place, ABSENT), b.get(place, ABSENT), place.startswith("rows "))
            if pair is not None:
                found.append(Difference(script, number, place, *pair))
    return found


def differing(a: Any, b: Any, series: bool) -> tuple[str, str] | None:
    """What each says where they differ; of two series, the steps that differ."""
    if series and a is not ABSENT and b is not ABSENT:
        steps = sorted(a.keys() | b.keys())
        odd = [step for step in steps if not same(a.get(step, ABSENT), b.get(step, ABSENT))]
        a, b = ({step: s[step] for step in odd if step in s} for s in (a, b))
        return (words(a), words(b)) if odd else None
    return None if same(a, b) else (words(a), words(b))


def listed(path: Path = TABLE) -> list[Listed]:
    """The table of differences."""
    table = tomllib.loads(path.read_text("utf-8"))
    return [Listed(_difference(one), table["reasons"][one["reason"]]) for one in table.get("difference", [])]


def _difference(entry: Mapping[str, Any]) -> Difference:
    return Difference(entry["script"], entry.get("sitting", 1), entry["place"], entry["real"], entry["ours"])


def without(table: str, no_more: Sequence[Difference]) -> str:
    """The text of the table without some differences, and without reasons that none has."""
    head, *entries = table.rstrip("\n").split(BETWEEN)
    kept = [entry for entry in entries if _difference(tomllib.loads(entry)) not in set(no_more)]
    used = {tomllib.loads(entry)["reason"] for entry in kept}
    dropped = tomllib.loads(head)["reasons"].keys() - used
    lines = [line for line in head.splitlines() if line.partition(" = ")[0] not in dropped]
    return BETWEEN.join(["\n".join(lines), *kept]) + "\n"


def unexplained(script: str, found: Sequence[Difference], table: Sequence[Listed]) -> list[Difference]:
    """Differences that the table does not list."""
    known = {one.difference for one in table if one.difference.script == script}
    return [one for one in found if one not in known]


def gone(script: str, found: Sequence[Difference], table: Sequence[Listed]) -> list[Difference]:
    """Listed differences that are no more."""
    return [one.difference for one in table if one.difference.script == script and one.difference not in set(found)]
