"""PNG files from raw pixels, and animated ones from frames: standard library, lossless, one IDAT a frame.

Source: Portable Network Graphics (Third Edition), W3C.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""By channels: grey, grey and alpha, colour, colour and alpha."""


@dataclass(frozen=True)
class Pixels:
    """An image as bytes: rows from the top, channels together; 16-bit samples are big-endian."""

    width: int
    height: int
    channels: int
    data: bytes
    bits: int = 8


def png(image: Pixels) -> bytes:
    """One image."""
    return SIGNATURE + _header(image) + _chunk(b"IDAT", _packed(image)) + _chunk(b"IEND", b"")


def apng(frames: Sequence[Pixels], frames_per_second: float) -> bytes:
    """Images of one size, shown one after the other, for ever."""
    first = frames[0]
    delay = struct.pack(">HH", min(max(round(1000 / frames_per_second), 1), 0xFFFF), 1000)
    parts = [SIGNATURE, _header(first), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    sequence = 0
    for number, frame in enumerate(frames):
        control = struct.pack(">IIIII", sequence, frame.width, frame.height, 0, 0) + delay + b"\0\0"
        parts.append(_chunk(b"fcTL", control))
        sequence += 1
        if number == 0:
            parts.append(_chunk(b"IDAT", _packed(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + _packed(frame)))
            sequence += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height that a PNG file says; None for other files."""
    if data[:8] != SIGNATURE or len(data) < 24:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _header(image: Pixels) -> bytes:
    colour = _COLOUR_TYPES[image.channels]
    return _chunk(b"IHDR", struct.pack(">IIBBBBB", image.width, image.height, image.bits, colour, 0, 0, 0))


def _packed(image: Pixels) -> bytes:
    """The rows, each after the byte that says 'not filtered', compressed."""
    stride = image.width * image.channels * image.bits // 8
    rows = (image.data[at : at + stride] for at in range(0, stride * image.height, stride))
    return zlib.compress(b"".join(b"\0" + row for row in rows), 6)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
