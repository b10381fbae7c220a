"""Any Python value as JSON that reads back with its type: for configs, events and odd things given to `log`.

Plain JSON stays plain. What JSON cannot say becomes an object with one key that begins with `$`: `$float` (NaN and
infinities), `$int` (beyond 2^53, for readers that hold numbers as float64), `$object` (keys that are not strings or
begin with `$`), `$repr` (what has no faithful form; lossy, and `encode` tells which paths). Arrays become lists.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, cast

EXACT_INT = 1 << 53
"""Integers up to here are exact in a float64."""
MAX_REPR_CHARS = 2000
CONVERSION_ERRORS = (TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)
"""What other people's `item`, `tolist` and `repr` may raise."""


def encode(value: Any, lossy: list[str] | None = None, path: str = "") -> Any:
    """`value` as JSON; the paths of what was kept only as its `repr` are appended to `lossy`."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, enum.Enum):
        return encode(value.value, lossy, path)
    if isinstance(value, int):
        return int(value) if -EXACT_INT <= value <= EXACT_INT else {"$int": _digits(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": _non_finite(value)}
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), lossy, path)
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(item, lossy, f"{path}[{i}]") for i, item in enumerate(cast("list[Any]", value))]
    return _other(value, lossy, path)


def _digits(value: int) -> str:
    """Decimal, or hexadecimal where Python refuses to print decimal."""
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _mapping(value: Mapping[Any, Any], lossy: list[str] | None, path: str) -> Any:
    inner = {key: encode(item, lossy, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if all(type(key) is str and not key.startswith("$") for key in inner):
        return inner
    return {"$object": [[encode(key, lossy, f"{path}.{key}"), item] for key, item in inner.items()]}


def _other(value: Any, lossy: list[str] | None, path: str) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encode({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, lossy, path)
    if isinstance(value, PurePath):
        return str(value)
    try:
        if callable(to_list := getattr(value, "tolist", None)):
            plain: Any = to_list()
            if isinstance(plain, list | bool | int | float | str):
                return encode(plain, lossy, path)
        text = repr(value)
    except CONVERSION_ERRORS as error:
        text = f"<{type(value).__qualname__}: {type(error).__name__}>"
    if lossy is not None:
        lossy.append(path)
    return {"$repr": text[:MAX_REPR_CHARS], "type": f"{type(value).__module__}.{type(value).__qualname__}"}


def decode(value: Any) -> Any:
    """What `encode` was given, but for tuples and sets (lists now) and for what is marked `$repr` (left as it is)."""
    if isinstance(value, list):
        return [decode(item) for item in cast("list[Any]", value)]
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
    return {key: decode(item) for key, item in fields.items()}


def _hashable(key: Any) -> Any:
    return tuple(_hashable(item) for item in cast("list[Any]", key)) if isinstance(key, list) else key
