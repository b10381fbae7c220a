"""Event files written byte by byte, without tensorboard and our own code: its framing, its checksum, its fields."""

import struct
from collections.abc import Iterable
from pathlib import Path

Point = tuple[str, int, float, float]
"""Tag, step, wall time, value."""


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    """The checksum as event files store it."""
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """A record with its length and both checksums."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(number: int) -> bytes:
    """A protocol-buffer varint."""
    number &= (1 << 64) - 1
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(wall_time: float, step: int, values: Iterable[bytes] = (), more: bytes = b"") -> bytes:
    """An event's bytes; a step of 0 is left out, as real writers do."""
    summary = b"".join(field(1, value) for value in values)
    stepped = b"\x10" + varint(step) if step else b""
    return b"\x09" + struct.pack("<d", wall_time) + stepped + more + (field(5, summary) if summary else b"")


def simple(tag: str, value: float) -> bytes:
    """A value as torch writes it."""
    return field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def tensor_scalar(tag: str, value: float, dtype: int = 1, content: bytes | None = None) -> bytes:
    """A value as TensorFlow 2 writes it: a tensor without dimensions, for the plugin of scalars."""
    number = field(5, struct.pack("<f", value)) if content is None else field(4, content)
    tensor = b"\x08" + varint(dtype) + field(2, b"") + number
    return field(1, tag.encode()) + field(8, tensor) + field(9, field(1, field(1, b"scalars")))


def version(wall_time: float) -> bytes:
    """The record that begins a file."""
    return record(event(wall_time, 0, more=field(3, b"brain.Event:2")))


def write_events(path: Path, points: Iterable[Point], began: float | None = None) -> list[int]:
    """Write a file of scalars; where each record begins."""
    points = list(points)
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [version(began if began is not None else points[0][2] - 1)]
    parts += [record(event(wall, step, [simple(tag, value)])) for tag, step, wall, value in points]
    path.write_bytes(b"".join(parts))
    return [sum(map(len, parts[:number])) for number in range(len(parts))]


def name(began: int) -> str:
    """An event file's name."""
    return f"events.out.tfevents.{began}.host.1.0"
