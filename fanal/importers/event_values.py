"""One event of an event file, decoded exactly: scalars of every type, tensors, histograms, images, audio.

`scalar_spans` says of a plain scalar where its parts stand, for reading many at once. Floats of 32 bits stay what they
are. A message that cannot be decoded is a ValueError.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanal.importers import protobuf
from fanal.importers.protobuf import Raw, fields, integer, message, text

DOUBLE_STEP_LIMIT = 9
"""Bytes of a step that is not negative."""
_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 19: "<f2", 22: "<u4", 23: "<u8"}
_BFLOAT16, _STRING = 14, 7


@dataclass(frozen=True)
class Spans:
    """Where the parts of a scalar record stand; its time is bytes 1 to 8."""

    step: int
    step_bytes: int
    tag: int
    tag_bytes: int
    value: int
    value_bytes: int
    fixed: tuple[int, ...]
    """All other bytes."""


@dataclass
class Tensor:
    """A tensor: numbers in order, or strings."""

    shape: tuple[int, ...]
    numbers: list[Any]
    strings: list[bytes]


@dataclass
class Value:
    """One value of a summary."""

    tag: str = ""
    plugin: str = ""
    content: bytes = b""
    """What the plugin keeps beside."""
    scalar: float | None = None
    tensor: Tensor | None = None
    histogram: dict[str, Any] | None = None
    image: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None


@dataclass
class Event:
    """One event."""

    wall_time: float = 0.0
    step: int = 0
    file_version: str | None = None
    restarts: bool = False
    """It says that a session starts here: what other files have from this step on is superseded."""
    values: list[Value] = field(default_factory=list[Value])


def decode(data: bytes) -> Event:
    """What a record says.

    Raises:
        ValueError: it is no event.
    """
    event = Event()
    for number, raw in fields(data):
        if number == 1:
            event.wall_time = protobuf.float64(raw)
        elif number == 2:
            event.step = protobuf.signed(raw)
        elif number == 3:
            event.file_version = text(raw)
        elif number == 5:
            event.values += [_value(message(inner)) for n, inner in fields(message(raw)) if n == 1]
        elif number == 7:
            event.restarts = any(n == 1 and inner == 1 for n, inner in fields(message(raw)))
    return event


def _value(data: bytes) -> Value:
    value = Value()
    for number, raw in fields(data):
        if number == 1:
            value.tag = text(raw)
        elif number == 2:
            value.scalar = protobuf.float32(raw)
        elif number == 4:
            value.image = _named(message(raw), _IMAGE)
        elif number == 5:
            value.histogram = _named(message(raw), _HISTOGRAM)
        elif number == 6:
            value.audio = _named(message(raw), _AUDIO)
        elif number == 8:
            value.tensor = tensor(message(raw))
        elif number == 9:
            for n, inner in fields(message(raw)):
                if n == 1:
                    plugin = dict(fields(message(inner)))
                    value.plugin = text(plugin.get(1, b""))
                    value.content = message(plugin.get(2, b""))
    return value


def _doubles(raw: Raw) -> list[float]:
    data = message(raw)
    return [float(one) for one in np.frombuffer(data[: len(data) // 8 * 8], "<f8").tolist()]


_Named = dict[int, tuple[str, Callable[[Raw], Any]]]
_IMAGE: _Named = {1: ("height", integer), 2: ("width", integer), 4: ("data", message)}
_AUDIO: _Named = {1: ("rate", protobuf.float32), 4: ("data", message), 5: ("type", text)}
_HISTOGRAM: _Named = {
    1: ("min", protobuf.float64),
    2: ("max", protobuf.float64),
    3: ("num", protobuf.float64),
    4: ("sum", protobuf.float64),
    5: ("sum_squares", protobuf.float64),
    6: ("limits", _doubles),
    7: ("counts", _doubles),
}


def _named(data: bytes, names: _Named) -> dict[str, Any]:
    return {names[number][0]: names[number][1](raw) for number, raw in fields(data) if number in names}


def tensor(data: bytes) -> Tensor:
    """A tensor.

    Raises:
        ValueError: its type is not known or its bytes do not fit its shape.
    """
    dtype, shape, content, numbers = 0, list[int](), b"", list[Any]()
    strings: list[bytes] = []
    for number, raw in fields(data):
        if number == 1:
            dtype = integer(raw)
        elif number == 2:
            sizes = [dict(fields(message(inner))) for n, inner in fields(message(raw)) if n == 2]
            shape = [protobuf.signed(size.get(1, 0)) for size in sizes]
        elif number == 4:
            content = message(raw)
        elif number == 8:
            strings.append(message(raw))
        elif number in _REPEATED:
            numbers += _REPEATED[number](raw)
    if dtype == _STRING:
        return Tensor(tuple(shape), [], strings)
    if content:
        numbers = _from_content(dtype, content)
    elif dtype in (19, _BFLOAT16):
        halves = np.array(numbers, np.uint16).tobytes()
        numbers = _from_content(dtype, halves)
    size = int(np.prod(shape)) if shape else 1
    if 1 <= len(numbers) < size:
        numbers += [numbers[-1]] * (size - len(numbers))  # the last one is repeated, as the format says
    return Tensor(tuple(shape), [bool(n) for n in numbers] if dtype == 10 else numbers, strings)


def _from_content(dtype: int, content: bytes) -> list[Any]:
    if dtype == _BFLOAT16:
        return (np.frombuffer(content, "<u2").astype("<u4") << 16).view("<f4").astype(float).tolist()
    if dtype not in _DTYPES:
        raise ValueError(f"tensor type {dtype} is unknown")
    return np.frombuffer(content, _DTYPES[dtype]).tolist()


def _floats(raw: Raw) -> list[Any]:
    return [protobuf.float32(raw)] if isinstance(raw, int) else np.frombuffer(raw, "<f4").astype(float).tolist()


def _float64s(raw: Raw) -> list[Any]:
    return [protobuf.float64(raw)] if isinstance(raw, int) else np.frombuffer(raw, "<f8").tolist()


def _integers(raw: Raw) -> list[Any]:
    return [protobuf.signed(one) for one in ([raw] if isinstance(raw, int) else protobuf.varints(raw))]


_REPEATED: dict[int, Callable[[Raw], list[Any]]] = {
    5: _floats,
    6: _float64s,
    7: _integers,
    10: _integers,
    11: _integers,
    13: _integers,
    16: _integers,
    17: lambda raw: [one % (1 << 64) for one in _integers(raw)],
}


def scalar_spans(data: bytes) -> Spans | None:
    """Where the parts of a record stand that is one scalar, a float or double, with a time before all; None otherwise.

    Source: `Event` and `Summary` of TensorBoard's public message definitions.
    """
    try:
        event = _spans(data, 0, len(data))
        if not event or event[0][:2] != (1, 1) or [f[0] for f in event] not in ([1, 5], [1, 2, 5]):
            return None
        step = event[1] if len(event) == 3 else None
        values = _spans(data, event[-1][2], event[-1][3])
        if len(values) != 1 or values[0][0] != 1:
            return None
        value = _spans(data, values[0][2], values[0][3])
        tags = [f for f in value if f[0] == 1]
        numbers = [f[1:] for f in value if f[0] == 2]
        numbers += [found for f in value if f[0] == 8 and (found := _rank_0(data, f[2], f[3])) is not None]
    except (ValueError, struct.error):
        return None
    if len(tags) != 1 or len(numbers) != 1 or {f[0] for f in value} - {1, 2, 8, 9}:
        return None
    if not _is_scalar(data, value) or (step is not None and step[3] - step[2] > DOUBLE_STEP_LIMIT):
        return None
    spans = [(1, 9), tags[0][2:], numbers[0][1:], *([step[2:]] if step else [])]
    fixed = set(range(len(data))).difference(*(range(first, end) for first, end in spans))
    first, end = step[2:] if step else (0, 0)
    (tag, tag_end), (at, at_end) = tags[0][2:], numbers[0][1:]
    return Spans(first, end - first, tag, tag_end - tag, at, at_end - at, tuple(sorted(fixed)))


def _is_scalar(data: bytes, value: list[tuple[int, int, int, int]]) -> bool:
    """Whether the plugin, where one is named, is that of scalars."""
    for number, _, first, end in value:
        if number == 9:
            plugins = [_spans(data, a, b) for n, _, a, b in _spans(data, first, end) if n == 1]
            names = [data[a:b] for plugin in plugins for n, _, a, b in plugin if n == 1]
            return names in ([], [b"scalars"])
    return True


def _rank_0(data: bytes, first: int, end: int) -> tuple[int, int, int] | None:
    """Wire type and place of the one number of a float or double tensor without dimensions."""
    parts = _spans(data, first, end)
    dtype = next((data[a] for n, _, a, _ in parts if n == 1), 0)
    if {n for n, *_ in parts} - {1, 2, 4, 5, 6} or any(a != b for n, _, a, b in parts if n == 2):
        return None
    wanted = {1: (4, 5), 2: (8, 6)}.get(dtype)
    held = [(wire, a, b) for n, wire, a, b in parts if n in (4, 5, 6)]
    if wanted is None or len(held) != 1 or held[0][2] - held[0][1] != wanted[0]:
        return None
    return held[0]


def _spans(data: bytes, position: int, end: int) -> list[tuple[int, int, int, int]]:
    """Number, wire type, first and end byte of each field's value."""
    found: list[tuple[int, int, int, int]] = []
    while position < end:
        head, position = protobuf.varint(data, position)
        wire, first = head & 7, position
        if wire == protobuf.BYTES:
            size, first = protobuf.varint(data, position)
            position = first + size
        elif wire == protobuf.VARINT:
            _, position = protobuf.varint(data, position)
        elif wire in (protobuf.FIXED32, protobuf.FIXED64):
            position += 4 if wire == protobuf.FIXED32 else 8
        else:
            raise ValueError(f"wire type {wire}")
        if position > end:
            raise ValueError("a field is cut short")
        found.append((head >> 3, wire, first, position))
    return found
