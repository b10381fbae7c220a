"""The framing of `.wandb` files: 32 KiB blocks of checksummed pieces, read from any whole record's end onwards.

A piece whose checksum is wrong with a whole one after it is damage, named by its byte, and reading goes on at that
whole one; without, it is a torn tail, which a later read finishes. Reads a chunk at a time.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fanal.importers.findings import Unreadable

FILE_HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
BLOCK = 32768
CHUNK_BYTES = 16 << 20
PIECE = struct.Struct("<IHB")
"""CRC-32 of type and data, length, type; this is plain CRC-32, whatever comments elsewhere say."""
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class WandbFrames:
    """A position in a `.wandb` file that only moves over whole records."""

    path: Path
    offset: int = 0
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])
    torn_bytes: int = 0
    """What followed the last whole record at the last read."""
    chunk_bytes: int = CHUNK_BYTES

    def read(self) -> Iterator[tuple[int, bytes]]:
        """The byte after each whole record from `offset` on, and the record's bytes."""
        with self.path.open("rb") as file:
            if self.offset == 0:
                head = file.read(len(FILE_HEADER))
                if head != FILE_HEADER:
                    self._no_header(head)
                    return
                self.offset = len(FILE_HEADER)
            wanted = self.chunk_bytes
            while True:
                file.seek(self.offset)
                data = file.read(wanted)
                before = self.offset
                yield from self._whole_records(data, at_end=len(data) < wanted)
                if len(data) < wanted:
                    self.torn_bytes = len(data[self.offset - before :].rstrip(b"\0"))
                    return
                wanted = self.chunk_bytes if self.offset > before else wanted * 2

    def _no_header(self, head: bytes) -> None:
        if FILE_HEADER.startswith(head):
            self.torn_bytes = len(head)
        else:
            self._name(0, "is not the header of a .wandb file")

    def _whole_records(self, data: bytes, at_end: bool) -> Iterator[tuple[int, bytes]]:
        base = self.offset
        position, parts = 0, list[bytes]()
        started = 0
        while True:
            position = _next_piece(base, position)
            piece = _piece_at(data, base, position)
            if piece is None:
                following = self._after_damage(data, base, position, at_end)
                if following is None:
                    return
                parts.clear()
                position = following
                continue
            kind, body, end = piece
            if kind in (FULL, FIRST):
                if parts:
                    self._name(base + started, "a record has no end")
                parts, started = [body], position
            elif parts:
                parts.append(body)
            position = end
            if kind in (FULL, LAST) and parts:
                self.offset = base + end
                yield self.offset, b"".join(parts)
                parts = []

    def _after_damage(self, data: bytes, base: int, position: int, at_end: bool) -> int | None:
        """Where the next whole piece begins, after naming what lies before it; None where there is none yet.

        A block that ends in zeros is no damage: a writer that was reopened begins in the next block.
        """
        if not at_end and len(data) - position < 2 * BLOCK:
            return None
        following = _resync(data, base, position + 1)
        if following is not None and data[position:following].strip(b"\0"):
            self._name(base + position, f"{following - position} bytes are no record")
        return following

    def _name(self, byte: int, what: str) -> None:
        """Once: what lies after the last whole record is read again when the file has grown."""
        found = Unreadable(f"byte {byte}", what)
        if found not in self.unreadable:
            self.unreadable.append(found)


def _next_piece(base: int, position: int) -> int:
    """Where a piece can begin at or after `position`: not in the last 6 bytes of a block."""
    left = BLOCK - (base + position) % BLOCK
    return position + left if left < PIECE.size else position


def _piece_at(data: bytes, base: int, position: int) -> tuple[int, bytes, int] | None:
    body = position + PIECE.size
    if body > len(data):
        return None
    crc, length, kind = PIECE.unpack_from(data, position)
    left = BLOCK - (base + position) % BLOCK
    end = body + length
    if not FULL <= kind <= LAST or length > left - PIECE.size or end > len(data):
        return None
    if zlib.crc32(data[body - 1 : end]) != crc:
        return None
    return kind, data[body:end], end


def _resync(data: bytes, base: int, position: int) -> int | None:
    while position + PIECE.size <= len(data):
        position = _next_piece(base, position)
        if _piece_at(data, base, position) is not None:
            return position
        position += 1
    return None
