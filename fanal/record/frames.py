"""What a frame's payload says: the names of a group of keys, a row of its values, an event, or odd values.

A payload begins with a uint32: its kind, and for the first four kinds the group's number in this file times 256.
A group is keys logged together with the types of their values; each log file defines the groups it uses, twice,
since every row needs its definition. Rows hold float64; integers beyond 2^53 stand beside in exact form.
"""

import json
import struct
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanal.record.files import line

DEFINITION, ROW, LONG_ROW, EXACT_ROW, EVENT, OTHER = 1, 2, 3, 4, 5, 6
TYPE_CODES: dict[type, str] = {float: "f", int: "i", bool: "b"}
SHORT = struct.Struct("<IiIH")
"""Kind and group, step, time since the file's base: 48 bits of ns."""
LONG = struct.Struct("<Iqq")
"""Kind and group, step, time (ns since 1970)."""
TIMED = struct.Struct("<Iq")
"""Kind, time (ns since 1970); JSON follows."""
KIND = struct.Struct("<I")
SHORT_TIME_LIMIT_NS = 1 << 48
STEP_LIMIT = 1 << 31


@dataclass(frozen=True)
class Definition:
    """The keys and value types of a group in one log file."""

    number: int
    keys: tuple[str, ...]
    types: str


@dataclass(frozen=True)
class Row:
    """One row as read: `values` are float64, `exact` gives positions whose value a float64 cannot hold."""

    group: int
    step: int
    time_ns: int
    values: bytes
    exact: tuple[tuple[int, Any], ...] = ()


@dataclass(frozen=True)
class Fact:
    """An event (`kind` is its name) or, with `kind` None, odd values by key; both still encoded JSON."""

    kind: str | None
    step: int | None
    time_ns: int
    fields: dict[str, Any]


def pack_names(keys: tuple[str, ...], types: str) -> bytes:
    """The body of a definition; made once a group, since 4,000 names take milliseconds."""
    return zlib.compress(line({"keys": keys, "types": types}), 6)


def pack_definition(number: int, names: bytes) -> bytes:
    """The payload that gives a group its number in one log file."""
    return KIND.pack(DEFINITION | number << 8) + names


def pack_exact_row(head: int, step: int, time_ns: int, values: list[float], exact: list[tuple[int, Any]]) -> bytes:
    """A row with values that float64 cannot hold; `head` is the group's number times 256."""
    return LONG.pack(EXACT_ROW | head, step, time_ns) + array("d", values).tobytes() + line(exact)


def pack_event(kind: str, step: int | None, time_ns: int, fields: Mapping[str, Any]) -> bytes:
    """An event; `fields` are encoded."""
    return TIMED.pack(EVENT, time_ns) + line({"kind": kind, "step": step, "fields": fields})


def pack_other(step: int, time_ns: int, values: Mapping[str, Any]) -> bytes:
    """Values of a row that are no numbers, encoded."""
    return TIMED.pack(OTHER, time_ns) + line({"step": step, "fields": values})


def unpack(payload: bytes, base_time_ns: int, widths: Mapping[int, int]) -> Definition | Row | Fact:
    """What a payload says; `widths` are the numbers of keys of the groups defined so far.

    Raises:
        ValueError: a kind or a width that no version of this format writes.
        KeyError: a row whose group is not defined.
    """
    head = KIND.unpack_from(payload)[0]
    kind, group = head & 0xFF, head >> 8
    if kind == ROW:
        _, step, low, high = SHORT.unpack_from(payload)
        return Row(group, step, base_time_ns + low + (high << 32), _values(payload, SHORT.size, widths[group]))
    if kind in (LONG_ROW, EXACT_ROW):
        _, step, time_ns = LONG.unpack_from(payload)
        values = _values(payload, LONG.size, widths[group])
        exact = json.loads(payload[LONG.size + len(values) :]) if kind == EXACT_ROW else []
        return Row(group, step, time_ns, values, tuple((position, value) for position, value in exact))
    if kind == DEFINITION:
        names = json.loads(zlib.decompress(payload[KIND.size :]))
        return Definition(group, tuple(names["keys"]), names["types"])
    if kind not in (EVENT, OTHER):
        raise ValueError(f"payload kind {kind} is unknown")
    said = json.loads(payload[TIMED.size :])
    return Fact(said.get("kind"), said["step"], TIMED.unpack_from(payload)[1], said["fields"])


def _values(payload: bytes, start: int, width: int) -> bytes:
    values = payload[start : start + 8 * width]
    if len(values) != 8 * width:
        raise ValueError(f"a row of {width} values is {len(payload) - start} bytes long")
    return values
