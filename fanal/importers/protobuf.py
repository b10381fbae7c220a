"""Walks protocol-buffer messages by hand: field numbers and raw values, without schema or generated code.

About 1 µs a field. A message cut short or with a wire type that no writer uses is a ValueError; what the numbers mean
is the caller's to know.
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Raw = int | bytes
"""A varint or fixed value as an unsigned integer, or the bytes of a string or message."""
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")


def fields(data: bytes) -> Iterator[tuple[int, Raw]]:
    """Number and raw value of each field of a message, in order.

    Raises:
        ValueError: it is no message.
    """
    position, end = 0, len(data)
    while position < end:
        head = data[position]
        position += 1
        if head > 127:
            head, position = varint(data, position - 1)
        wire = head & 7
        if wire == BYTES:
            size, position = varint(data, position)
            stop = position + size
        elif wire == VARINT:
            value, position = varint(data, position)
            yield head >> 3, value
            continue
        elif wire in (FIXED64, FIXED32):
            stop = position + (8 if wire == FIXED64 else 4)
        else:
            raise ValueError(f"wire type {wire} at byte {position}")
        if stop > end:
            raise ValueError(f"field {head >> 3} is cut short at byte {position}")
        raw = data[position:stop]
        yield head >> 3, raw if wire == BYTES else int.from_bytes(raw, "little")
        position = stop


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A varint and the byte after it.

    Raises:
        ValueError: it is cut short or too long.
    """
    value = shift = 0
    try:
        while (byte := data[position]) > 127:
            value |= (byte & 127) << shift
            shift += 7
            position += 1
            if shift > 63:
                raise ValueError(f"a varint of more than 64 bits at byte {position}")
    except IndexError:
        raise ValueError(f"a varint is cut short at byte {position}") from None
    return value | byte << shift, position + 1


def signed(raw: Raw) -> int:
    """An int32 or int64 field."""
    number = integer(raw)
    return number - (1 << 64) if number >= 1 << 63 else number


def integer(raw: Raw) -> int:
    """A varint or fixed field.

    Raises:
        ValueError: it is a string or message.
    """
    if not isinstance(raw, int):
        raise ValueError("bytes stand where a number should")
    return raw


def message(raw: Raw) -> bytes:
    """The bytes of a string or message.

    Raises:
        ValueError: it is a number.
    """
    if not isinstance(raw, bytes):
        raise ValueError("a number stands where bytes should")
    return raw


def text(raw: Raw) -> str:
    """A string; bytes that are no UTF-8 become replacement characters."""
    return message(raw).decode("utf-8", "replace")


def float32(raw: Raw) -> float:
    """A float field."""
    return _FLOAT.unpack(integer(raw).to_bytes(4, "little"))[0]


def float64(raw: Raw) -> float:
    """A double field."""
    return _DOUBLE.unpack(integer(raw).to_bytes(8, "little"))[0]


def varints(data: bytes) -> list[int]:
    """The values of a packed repeated field."""
    found: list[int] = []
    position = 0
    while position < len(data):
        value, position = varint(data, position)
        found.append(value)
    return found
