"""Any Python value as JSON that reads back with its type: for configs, events and odd things given to `log`.

Plain JSON stays plain. What JSON cannot say becomes an object with one key that begins with `$`: `$float` (NaN and
infinities), `$int` (beyond 2^53, for readers that hold numbers as float64), `$object` (keys that are not strings or
begin with `$`), `$repr` (what has no faithful form; lossy, and `encode` tells which paths). Arrays become lists. A
reference to a blob (`$blob`) and a medium (`$media`) are classes of their own: no dict of a user passes for one.
"""

import dataclasses
import enum
import json
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, cast

EXACT_INT = 1 << 53
"""Integers up to here are exact in a float64."""
MAX_REPR_CHARS = 2000
MAX_DEPTH = 100
"""Deeper than this, and in a circle, a value is kept as its `repr`."""
CONVERSION_ERRORS = (Exception,)
"""Other people's code runs here (`item`, `tolist`, `repr`, `==`), with exceptions of its own: `log` never raises."""
_SIMPLE = frozenset((float, int, str, bool, type(None)))


class BlobRef(dict[str, Any]):
    """`{"$blob": sha256, "bytes": n, "type": media type}`: bytes that lie in `blobs/`."""


class Media(dict[str, Any]):
    """`{"$media": kind, …}`: an image, a table, …, whose parts are plain values and blobs."""


def encode(value: Any, lossy: list[str] | None = None, path: str = "") -> Any:
    """`value` as JSON; the paths of what was kept only as its `repr` are appended to `lossy`."""
    return _Encoder(lossy).encode(value, path, 0)


class _Encoder:
    """Notes which paths lose something."""

    def __init__(self, lossy: list[str] | None) -> None:
        self._lossy = lossy

    def encode(self, value: Any, path: str, depth: int) -> Any:
        try:
            return self._encode(value, path, depth)
        except CONVERSION_ERRORS:  # then its text says what it is
            return self._repr(value, path)

    def _encode(self, value: Any, path: str, depth: int) -> Any:
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, enum.Enum):
            return self.encode(value.value, path, depth + 1)
        if isinstance(value, int):
            return int(value) if -EXACT_INT <= value <= EXACT_INT else {"$int": _digits(int(value))}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"$float": _non_finite(value)}
        if depth > MAX_DEPTH:
            return self._repr(value, path)
        if isinstance(value, BlobRef | Media):
            return {key: self.encode(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), path, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self._items(list(cast("list[Any]", value)), path, depth)
        return self._other(value, path, depth)

    def _items(self, items: list[Any], path: str, depth: int) -> list[Any]:
        """Millions of plain numbers cost three passes in C, not a call each."""
        if len(items) > MAX_DEPTH and _are_plain(items):
            return items
        return [self.encode(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(items)]

    def _mapping(self, value: Mapping[Any, Any], path: str, depth: int) -> Any:
        try:
            pairs = list(value.items())
        except CONVERSION_ERRORS:  # for instance a dict that another thread changes
            return self._repr(value, path)
        inner = [(k, self.encode(v, f"{path}.{text_of(k)}" if path else text_of(k), depth + 1)) for k, v in pairs]
        if all(type(key) is str and not key.startswith("$") for key, _ in inner):
            return dict(inner)
        return {"$object": [[self.encode(key, f"{path}.{text_of(key)}", depth + 1), item] for key, item in inner]}

    def _other(self, value: Any, path: str, depth: int) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
            return self._mapping(fields, path, depth)
        if isinstance(value, PurePath):
            return str(value)
        try:
            if callable(to_list := getattr(value, "tolist", None)):
                plain: Any = to_list()
                if isinstance(plain, list):
                    return self._items(cast("list[Any]", plain), path, depth)
                if isinstance(plain, bool | int | float | str):
                    return self.encode(plain, path, depth)
        except CONVERSION_ERRORS:
            pass  # then its text says what it is
        return self._repr(value, path)

    def _repr(self, value: Any, path: str) -> Any:
        try:
            text = str.__str__(repr(value))
        except CONVERSION_ERRORS as error:
            text = f"<{type_name(value)}: {type_name(error)}>"
        if self._lossy is not None:
            self._lossy.append(path)
        return {"$repr": text[:MAX_REPR_CHARS], "type": _full_name(value)}


def _are_plain(items: list[Any]) -> bool:
    """Whether JSON says each of them exactly."""
    kinds = set(map(type, items))
    if not kinds <= _SIMPLE:
        return False
    if float in kinds and not all(math.isfinite(x) for x in items if type(x) is float):
        return False
    return int not in kinds or all(-EXACT_INT <= x <= EXACT_INT for x in items if type(x) is int)


def text_of(value: Any) -> str:
    """`str(value)`, or the name of its type where it has no text."""
    try:
        return str.__str__(str(value))
    except CONVERSION_ERRORS:
        return str.__str__(value) if issubclass(type(value), str) else f"<{type_name(value)}>"


def type_name(value: Any) -> str:
    """The name of a value's type."""
    try:
        return str(type(value).__name__)
    except CONVERSION_ERRORS:  # a type of a type of somebody's own
        return "?"


def _full_name(value: Any) -> str:
    try:
        return f"{type(value).__module__}.{type(value).__qualname__}"
    except CONVERSION_ERRORS:
        return "?"


def _digits(value: int) -> str:
    """Decimal, or hexadecimal where Python refuses to print decimal."""
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decode(value: Any) -> Any:
    """What `encode` was given, but for tuples and sets (lists now) and for what is marked `$repr` (left as it is)."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return items if set(map(type, items)) <= _SIMPLE else [decode(item) for item in items]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if "$float" in fields:
        return float(fields["$float"])
    if "$int" in fields:
        return int(fields["$int"], 0)
    if "$object" in fields:
        return {_hashable(decode(key)): decode(item) for key, item in fields["$object"]}
    if "$repr" in fields:
        return fields
    kind = BlobRef if "$blob" in fields else Media if "$media" in fields else dict[str, Any]
    return kind({key: decode(item) for key, item in fields.items()})


def _hashable(key: Any) -> Any:
    if isinstance(key, list):
        return tuple(_hashable(item) for item in cast("list[Any]", key))
    return json.dumps(key, sort_keys=True, default=str) if isinstance(key, dict) else key
