"""Canonical JSON and its SHA-256: the name of a resolved campaign.

Sorted keys, no spaces, UTF-8, floats by their shortest exact form, no NaN; the same values give the same bytes
whatever the order, spacing and comments of the file they were written in.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast


def plain(value: Any) -> Any:
    """Dataclasses, tuples and mappings as dicts with string keys and lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("list[Any]", value)]
    return value


def canonical_json(value: Any) -> str:
    """The one way to write `value`.

    Raises:
        ValueError: a float that is not finite.
    """
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_hex(text: str) -> str:
    """SHA-256 of the text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
