"""Thrift's compact protocol, as far as a Parquet file needs it to be written: structs, numbers, bytes and lists.

A field is (number, type, payload); `struct` puts fields in order of their numbers. Source: the Thrift compact protocol
specification. Nothing is read here.
"""

from collections.abc import Sequence

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
Field = tuple[int, int, bytes]


def varint(value: int) -> bytes:
    """An unsigned number, seven bits a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """A signed number as a varint: 0, −1, 1, −2 are 0, 1, 2, 3."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def i32(number: int, value: int) -> Field:
    """A field of 32 bits."""
    return number, I32, zigzag(value)


def i64(number: int, value: int) -> Field:
    """A field of 64 bits."""
    return number, I64, zigzag(value)


def binary(number: int, value: bytes) -> Field:
    """A field of bytes or UTF-8."""
    return number, BINARY, varint(len(value)) + value


def nested(number: int, *fields: Field) -> Field:
    """A field that is a struct."""
    return number, STRUCT, struct(*fields)


def listed(number: int, kind: int, items: Sequence[bytes]) -> Field:
    """A field that is a list; the items are encoded (`zigzag`, `struct`, or bytes with their length)."""
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + varint(len(items))
    return number, LIST, head + b"".join(items)


def struct(*fields: Field) -> bytes:
    """A struct of fields whose numbers rise by at most 15."""
    out, before = bytearray(), 0
    for number, kind, payload in fields:
        assert 0 < number - before < 16, "fields come in order of their numbers"
        out.append((number - before) << 4 | kind)
        out += payload
        before = number
    out.append(0)
    return bytes(out)
