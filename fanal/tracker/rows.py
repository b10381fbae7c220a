"""What a row becomes before it is a row of the record: nested dicts flat, joined by ".", media made, own keys out.

Only rows that hold something else than plain numbers, or one of `OWN_KEYS`, come here. Nothing is dropped: two values
that meet under one key become two rows of the same step, of which the later shows.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, cast

from fanal.record.scalars import as_number
from fanal.record.values import CONVERSION_ERRORS, BlobRef, Media

OWN_KEYS = ("_step", "_timestamp")
"""Keys by which a row says its own step (where `log` was given none) and its own time, in seconds since 1970."""
MAX_SECONDS = 1 << 33
MAX_NESTED = 20
_FIGURES = {
    "matplotlib.figure": ("fanal.tracker.image", "Image"),
    "plotly.graph_objs": ("fanal.tracker.media", "Plotly"),
    "pandas": ("fanal.tracker.table", "Table"),
    "PIL": ("fanal.tracker.image", "Image"),
}
"""By the module of a value's type: what it is logged as."""


@dataclass
class Row:
    """A row as it goes into the record, and others of the same step after it."""

    step: Any
    time_ns: int | None
    parts: list[dict[Any, Any]] = field(default_factory=list[dict[Any, Any]])


class MediaList:
    """Several media under one key."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def to_record(self, run: Any) -> Media:
        """All of them, in order, under the kind of the first."""
        items = [item.to_record(run) for item in self._items]
        return Media({"$media": items[0]["$media"], "items": items})


def prepare(data: Mapping[Any, Any], step: Any) -> Row:
    """A row of nested and other values as rows of the record."""
    if not any(map(_needs_a_look, set(map(type, data.values())))) and data.keys().isdisjoint(OWN_KEYS):
        return Row(step, None, [dict(data)])
    row = Row(step, None, [{}])
    for key, value in _flat(data):
        if key == "_step" and step is None and (number := as_number(value)) is not None:
            row.step = number
        elif key == "_timestamp" and (moment := _nanoseconds(value)) is not None:
            row.time_ns = moment
        else:
            if key in row.parts[-1]:
                row.parts.append({})
            row.parts[-1][key] = value
    return row


@cache
def _needs_a_look(kind: type) -> bool:
    """Whether values of a type may be nested or media; numbers of any library are not."""
    return issubclass(kind, Mapping | list | tuple) or kind.__module__.startswith(tuple(_FIGURES))


def _flat(data: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[Any, Any]]:
    for key, value in list(data.items()):
        name = f"{prefix}{key}" if prefix else key
        if isinstance(value, Mapping) and value and not isinstance(value, BlobRef | Media) and depth < MAX_NESTED:
            yield from _flat(cast("Mapping[Any, Any]", value), f"{name}.", depth + 1)
        else:
            yield name, _medium(value)


def _medium(value: Any) -> Any:
    """Figures, images, frames and lists of media as what they are logged as; other values as they are."""
    if isinstance(value, list | tuple):
        given = cast("list[Any]", value)
        items = [_medium(item) for item in given] if _may_hold_media(given) else []
        return MediaList(items) if items and all(hasattr(item, "to_record") for item in items) else given
    module = type(value).__module__
    if module == "builtins" or hasattr(value, "to_record"):
        return value
    for start, (where, name) in _FIGURES.items():
        if module.startswith(start) and _shape_of(start)(value):
            try:
                return getattr(import_module(where), name)(value)
            except (*CONVERSION_ERRORS, OSError):  # then its text says what it is
                return value
    return value


def listed(value: Any) -> list[Any]:
    """A list as it is, a tuple as a list, anything else as the one item of a list."""
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]


def _may_hold_media(items: list[Any]) -> bool:
    first = items[0] if items else None
    return first is not None and type(first).__module__ != "builtins"


def _shape_of(start: str) -> Callable[[Any], bool]:
    """Whether a value of such a module is one that is shown; others of the module are kept as they are."""
    if start == "pandas":
        return lambda value: type(value).__name__ == "DataFrame"
    if start == "PIL":
        image = getattr(sys.modules.get("PIL.Image"), "Image", ())
        return lambda value: isinstance(value, image)
    return lambda value: "Figure" in type(value).__name__


def _nanoseconds(seconds: Any) -> int | None:
    number = as_number(seconds)
    if number is None or isinstance(number, bool) or not 0 < number < MAX_SECONDS:
        return None
    return int(number * 1e9)
