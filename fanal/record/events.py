"""Events: facts of the kinds in `kinds.py`, held against that table where they are born.

Unknown kinds and fields, and missing ones, are errors that name the nearest. `python -m fanal.record.events >
docs/events.md` writes the page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from fanal.record.kinds import KINDS

Json = Any
"""What `json` can hold, and floats that are not finite (`values.py` says how those travel)."""


@dataclass(frozen=True)
class Event:
    """One fact, as read back."""

    kind: str
    run: str
    attempt: int
    writer: str
    sequence: int
    time_ns: int
    step: int | None
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "object": (dict,),
    "list": (list, tuple),
}


def check_event(kind: str, fields: Mapping[str, Json]) -> None:
    """Hold `fields` against the table.

    Raises:
        ValueError: an unknown kind or field, a missing field or one of another type; names it and the nearest.
    """
    if kind not in KINDS:
        raise ValueError(f"event kind {kind!r} is unknown; nearest: {nearest(kind, KINDS)}")
    known = KINDS[kind].fields
    for name, value in fields.items():
        if name not in known:
            raise ValueError(f"event {kind!r} has no field {name!r}; nearest: {nearest(name, known)}")
        if not _fits(value, known[name].type):
            raise ValueError(f"event {kind!r}: field {name!r} must be {known[name].type}, got {type(value).__name__}")
    missing = [n for n, f in known.items() if n not in fields and not f.type.endswith("?")]
    if missing:
        raise ValueError(f"event {kind!r} misses {', '.join(map(repr, missing))}")


def _fits(value: Json, declared: str) -> bool:
    if value is None:
        return declared.endswith("?")
    wanted = _TYPES[declared.removesuffix("?")]
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))


def nearest(word: str, known: Iterable[str]) -> str:
    """The up to three known words most like `word`, for a message."""
    return ", ".join(get_close_matches(word, list(known), n=3, cutoff=0.0)) or "none"


def as_page() -> str:
    """The table as `docs/events.md`."""
    lines = [
        "# Events",
        "",
        "Generated from `fanal/record/kinds.py` by `python -m fanal.record.events > docs/events.md`.",
        "",
        "Every event has a kind, a run, an attempt, a writer, a sequence number in its writer, a time (ns since 1970,",
        "UTC) and a step or none, and the fields below. A `?` says that a field may be null or absent.",
    ]
    for name, kind in KINDS.items():
        lines += ["", f"## `{name}`", "", f"{kind.text}.", "", "| field | type | what |", "|---|---|---|"]
        lines += [f"| `{field_name}` | {known.type} | {known.text} |" for field_name, known in kind.fields.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_page(), end="")
