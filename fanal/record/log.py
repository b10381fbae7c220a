"""The log: a memory-mapped file of checksummed frames that a killed process loses nothing of.

Appending copies one frame into the page cache (about 2 µs and the copy) and makes no system call but when the file
grows; `sync` is the one that waits for the disk. A file begins with its header, twice; then frames: magic, length > 0,
sequence (counted from the header's), CRC32 over (salt, length, sequence, payload), payload; the frame's header is
written last. What follows the last frame is zeros. `scan` reads every whole frame, also those after a damaged one.
"""

import errno
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0x17FA
FILE_MAGIC = b"fanallog"
VERSION = 1
HEADER = struct.Struct("<8sIIQqI")
"""File magic, version, salt, sequence of the first frame, base of times (ns), CRC32 of these."""
HEADER_STRIDE_BYTES = 64
FIRST_FRAME = 2 * HEADER_STRIDE_BYTES
FRAME = struct.Struct("<HIII")
"""Magic, length of the payload, sequence less the file's first, CRC32."""
FRAME_BYTES = FRAME.size
_CHECKED = struct.Struct("<III")
"""Salt, length, sequence less the file's first: what the CRC covers before the payload."""
MAX_FILE_BYTES = 8 << 20
FIRST_BYTES = 4 << 10
MIN_GROWTH_BYTES = 16 << 10
WIDE_BYTES = 8 << 10
CRC_STEP_BYTES = 5 << 10
"""Of more, `zlib.crc32` gives the interpreter's lock to a busy thread, and gets it back 5 ms later."""
_MAGIC_BYTES = struct.pack("<H", MAGIC)


@dataclass(frozen=True)
class LogHeader:
    """What a log file says about itself."""

    salt: int
    first_sequence: int
    base_time_ns: int

    def pack(self) -> bytes:
        """The header, twice, each with its checksum."""
        fields = HEADER.pack(FILE_MAGIC, VERSION, self.salt, self.first_sequence, self.base_time_ns, 0)
        once = fields[:-4] + struct.pack("<I", zlib.crc32(fields[:-4]))
        return once.ljust(HEADER_STRIDE_BYTES, b"\0") * 2


class LogFile:
    """One log file being written; grows in place up to `MAX_FILE_BYTES`, then the writer begins the next."""

    def __init__(self, path: Path, first_sequence: int, base_time_ns: int, least_bytes: int = 0) -> None:
        self.path = path
        self.header = LogHeader(int.from_bytes(os.urandom(4), "little"), first_sequence, base_time_ns)
        self.position = FIRST_FRAME
        self.size = 0
        """What is mapped; the file may be longer, where a full disk gave a part of what was asked for."""
        self._file_bytes = 0
        self.next_sequence = first_sequence
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        needed = max(FIRST_BYTES, FIRST_FRAME + FRAME_BYTES + least_bytes)
        # A wide row's file, but the writer's first, is made whole: see `_grown`.
        wanted = MAX_FILE_BYTES if least_bytes >= WIDE_BYTES and first_sequence > 1 else needed
        try:
            self._extend(max(wanted, needed), needed)
            self.map = mmap.mmap(self._handle, self._file_bytes)
        except OSError:
            os.close(self._handle)
            path.unlink()
            raise
        self.size = self._file_bytes
        self.map[:FIRST_FRAME] = self.header.pack()

    def room(self, length: int) -> bool:
        """Make room for a payload; False where it belongs in the next file.

        Raises:
            OSError: the file cannot grow.
        """
        needed = self.position + FRAME_BYTES + length
        if needed <= self.size:
            return True
        if needed > MAX_FILE_BYTES:
            return False
        self._extend(min(max(_grown(self.size, length), needed), MAX_FILE_BYTES), needed)
        self.map.resize(self._file_bytes)
        self.size = self._file_bytes
        return True

    def payload_at(self) -> int:
        """Where in `map` the next frame's payload goes, before `commit`."""
        return self.position + FRAME_BYTES

    def commit(self, length: int) -> int:
        """Make the payload that was put at `payload_at` a frame; its sequence."""
        start = self.position
        sequence = self.next_sequence
        relative = sequence - self.header.first_sequence
        body = start + FRAME_BYTES
        crc = zlib.crc32(_CHECKED.pack(self.header.salt, length, relative))
        for at in range(body, body + length, CRC_STEP_BYTES):
            crc = zlib.crc32(self.map[at : min(at + CRC_STEP_BYTES, body + length)], crc)
        FRAME.pack_into(self.map, start, MAGIC, length, relative, crc)
        self.position = body + length
        self.next_sequence = sequence + 1
        return sequence

    def append(self, payload: bytes) -> int:
        """One frame, for which `room` said yes; its sequence."""
        start = self.payload_at()
        self.map[start : start + len(payload)] = payload
        return self.commit(len(payload))

    def sync(self) -> None:
        """Wait until the disk has every frame; other threads run meanwhile (`mmap.flush` would hold them up)."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Give the file back, without waiting for the disk."""
        self.map.close()
        os.close(self._handle)

    def _extend(self, size: int, needed: int) -> None:
        """Zeros are written, not a hole: a full disk is an error here and no killing signal later."""
        if self._file_bytes < needed:
            self._file_bytes += os.pwrite(self._handle, bytes(size - self._file_bytes), self._file_bytes)
        if self._file_bytes < needed:
            raise OSError(errno.ENOSPC, "no space left for the log", str(self.path))


def _grown(size: int, length: int) -> int:
    """How large a file becomes for a payload: an eighth more, at most 64 rows; for wide rows it doubles.

    Growing is a system call. A short one ends before a busy thread wakes up; in a long one that thread takes the
    interpreter for 5 ms, so there are few of these.
    """
    wanted = size if length >= WIDE_BYTES else min(size // 8, 64 * length)
    grown = size + max(wanted, MIN_GROWTH_BYTES)
    return grown - grown % MIN_GROWTH_BYTES


@dataclass(frozen=True)
class Frame:
    """One whole frame as read."""

    sequence: int
    payload: bytes
    position: int


@dataclass(frozen=True)
class Damage:
    """Bytes between whole frames that are no frame."""

    position: int
    num_bytes: int


def read_header(data: bytes) -> LogHeader | None:
    """The header, from whichever of its two copies is whole; None where neither is."""
    for start in (0, HEADER_STRIDE_BYTES):
        once = data[start : start + HEADER.size]
        if len(once) < HEADER.size:
            continue
        magic, version, salt, first_sequence, base_time_ns, crc = HEADER.unpack(once)
        if magic == FILE_MAGIC and version == VERSION and crc == zlib.crc32(once[:-4]):
            return LogHeader(salt, first_sequence, base_time_ns)
    return None


def scan(data: bytes, header: LogHeader, start: int = FIRST_FRAME, least: int = 0) -> Iterator[Frame | Damage]:
    """Every whole frame of `data` from `start` on, and what lies between them; a torn tail yields nothing.

    `least` is the lowest sequence, less the file's first, that may come.
    """
    position = start
    while True:
        frame = _frame_at(data, position, header, least)
        if frame is None:
            found = _next_frame(data, position + 1, header, least)
            if found is None:
                return
            yield Damage(position, found.position - position)
            frame = found
        yield frame
        position = frame.position + FRAME_BYTES + len(frame.payload)
        least = frame.sequence - header.first_sequence + 1


def _frame_at(data: bytes, position: int, header: LogHeader, least: int) -> Frame | None:
    if position + FRAME_BYTES > len(data):
        return None
    magic, length, relative, crc = FRAME.unpack_from(data, position)
    body = position + FRAME_BYTES
    if magic != MAGIC or length == 0 or relative < least or body + length > len(data):
        return None
    payload = data[body : body + length]
    if crc != zlib.crc32(payload, zlib.crc32(_CHECKED.pack(header.salt, length, relative))):
        return None
    return Frame(header.first_sequence + relative, payload, position)


def _next_frame(data: bytes, position: int, header: LogHeader, least: int) -> Frame | None:
    while (position := data.find(_MAGIC_BYTES, position)) >= 0:
        if (frame := _frame_at(data, position, header, least)) is not None:
            return frame
        position += 1
    return None


def torn_bytes(data: bytes, end: int) -> int:
    """How many bytes after the last whole frame (ending at `end`) hold something: a frame cut short."""
    return len(data[end:].rstrip(b"\0"))
