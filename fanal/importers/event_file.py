"""TensorBoard's event files, every point of them: framing with both checksums, scalars parsed by columns.

About 100 MB a second. Torn tail: bytes after the last whole record wait for the file to grow. Damage: a bad checksum
with whole records after it is named by its byte, and reading goes on at the next length whose checksum is right. What
is no scalar of a known layout takes the exact, slow path of `event_values.py`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fanal.importers import crc32c
from fanal.importers.event_columns import ScalarColumns
from fanal.importers.event_values import Event, decode
from fanal.importers.findings import Unreadable

CHUNK_BYTES = 8 << 20
FRAME_BYTES = 16
"""Length (8), its checksum (4), and after the data the data's checksum (4)."""
_LENGTH = struct.Struct("<Q")
SINGLE_RECORDS = 512
"""Records looked at one by one before a period of their lengths is looked for."""
_WINDOW = 1 << 16
Ints = NDArray[np.int64]


@dataclass
class Chunk:
    """Records that lie together, in order: scalars as columns, and what else there is by its place among them."""

    columns: ScalarColumns
    others: list[tuple[int, Event]]
    """Place among the chunk's records, and the event."""
    end: int
    """The byte after the last record."""


@dataclass
class EventFile:
    """A position in an event file that only moves over whole records."""

    path: Path
    offset: int = 0
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])
    torn_bytes: int = 0
    _tags: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def read(self) -> Iterator[Chunk]:
        """The records after `offset`, a chunk at a time."""
        with self.path.open("rb") as file:
            wanted = CHUNK_BYTES
            while True:
                file.seek(self.offset)
                data = file.read(wanted)
                at_end = len(data) < wanted
                before = self.offset
                chunk = self._chunk(data, at_end)
                if chunk is not None:
                    yield chunk
                if at_end and (chunk is None or self.offset - before == len(data)):
                    self.torn_bytes = len(data) - (self.offset - before)
                    return
                wanted = CHUNK_BYTES if self.offset > before else wanted * 2

    def read_first(self) -> Iterator[Chunk]:
        """The first records only: those of the file's first bytes."""
        with self.path.open("rb") as file:
            data = file.read(_WINDOW)
        start = self.offset
        while (chunk := self._chunk(data[self.offset - start :], at_end=False)) is not None:
            yield chunk

    def _chunk(self, data: bytes, at_end: bool) -> Chunk | None:
        """The records at the beginning of `data` up to the first that is damaged, whose following is found."""
        starts = _walk(data)
        raw = np.frombuffer(data, np.uint8)
        lengths = np.diff(starts) - FRAME_BYTES
        starts = starts[:-1]
        good_lengths = _lengths_are_right(raw, starts, lengths)
        num = len(starts) if good_lengths.all() else int(np.argmin(good_lengths))
        columns = ScalarColumns.empty(num, self._tags)
        whole, others = np.ones(num, bool), list[int]()
        for length in np.unique(lengths[:num]).tolist():
            where = np.flatnonzero(lengths[:num] == length)
            rows = _of_one_size(raw, starts[where], length + FRAME_BYTES)
            stored = np.ascontiguousarray(rows[:, 12 + length :]).view("<u4").ravel()
            records = rows[:, 12 : 12 + length]
            right = crc32c.masked(crc32c.checksums(records)) == stored
            whole[where] = right
            others += columns.take(where, records) if right.all() else columns.take(where[right], records[right])
        end = int(starts[num - 1] + lengths[num - 1]) + FRAME_BYTES if num else 0
        return self._checked(Parsed(data, starts, lengths, columns, sorted(others), whole, end), at_end)

    def _checked(self, parsed: "Parsed", at_end: bool) -> Chunk | None:
        """The chunk without its damaged records, and with the place where reading goes on."""
        base, end, num = self.offset, parsed.end, len(parsed.whole)
        bad = np.flatnonzero(~parsed.whole)
        head = parsed.data[end : end + 12]
        damaged = len(head) == 12 and not _begins_well(head)  # otherwise the record there is whole, or not all there
        following = _resync(parsed.data, end + 1) if damaged else None
        if following is not None:
            self._name(base + end, f"{following - end} bytes are no record")
            end = following
        elif at_end and len(bad) and bad[-1] == num - 1 and parsed.end == end:
            num = _last_whole(parsed.whole) + 1  # the file ends in records with a wrong checksum: a torn tail
            end = int(parsed.starts[num]) if num < len(parsed.starts) else end
            bad = bad[bad < num]
        elif at_end and base + end == 0 and len(parsed.data) >= FRAME_BYTES and not _begins_well(parsed.data):
            self._name(0, "is not how an event file begins")
        for at in bad.tolist():
            self._name(base + int(parsed.starts[at]), f"a record of {int(parsed.lengths[at])} bytes, wrong checksum")
        events = [(at, event) for at in parsed.others if at < num and (event := self._event(parsed, at)) is not None]
        self.offset = base + end
        return Chunk(parsed.columns.first(num), events, self.offset) if end else None

    def _event(self, parsed: "Parsed", at: int) -> Event | None:
        start = int(parsed.starts[at]) + 12
        try:
            return decode(parsed.data[start : start + int(parsed.lengths[at])])
        except ValueError as error:
            self._name(self.offset + start - 12, f"a record says nothing known: {error}")
            return None

    def _name(self, byte: int, what: str) -> None:
        found = Unreadable(f"{self.path.name} byte {byte}", what)
        if found not in self.unreadable:
            self.unreadable.append(found)


@dataclass
class Parsed:
    """A chunk before it is known what of it counts."""

    data: bytes
    starts: Ints
    lengths: Ints
    columns: ScalarColumns
    others: list[int]
    whole: NDArray[np.bool_]
    end: int


def holds_records(path: Path) -> bool:
    """Whether a file may be an event file: its first record begins as one, or a whole one follows in its first bytes.

    Of a file too short for that, whether its bytes may be the beginning of a length.
    """
    with path.open("rb") as file:
        head = file.read(12)
    if len(head) < 12:
        return not head[5:8].strip(b"\0")  # a first record has few bytes
    return _begins_well(head) or any(True for _ in EventFile(path).read_first())


def _begins_well(data: bytes) -> bool:
    """Whether the first length has its right checksum, which no cut can change."""
    return crc32c.masked(np.array([crc32c.checksum(data[:8])], np.uint32)).tobytes() == data[8:12]


def _walk(data: bytes) -> Ints:
    """Where each record begins that lies wholly in `data`, as far as lengths are right, and where the last one ends.

    Lengths mostly repeat, since the same keys are logged in turn: what repeats is followed without looking at each.
    """
    unpack, end, position = _LENGTH.unpack_from, len(data) - FRAME_BYTES, 0
    found = [np.zeros(1, np.int64)]
    while position <= end:
        starts: list[int] = []
        append = starts.append
        while position <= end and len(starts) < SINGLE_RECORDS:
            position = min(position + unpack(data, position)[0], len(data)) + FRAME_BYTES
            append(position)
        found.append(np.array(starts, np.int64))
        if position <= end and len(starts) == SINGLE_RECORDS and (more := _repeated(data, found[-1])) is not None:
            found.append(more)
            position = int(more[-1])
    whole = np.concatenate(found)
    return whole if whole[-1] <= len(data) else whole[:-1]


def _repeated(data: bytes, starts: Ints) -> Ints | None:
    """The records after the last of `starts` that go on with the period of their lengths."""
    sizes = np.diff(starts)
    period = next((p for p in range(1, len(sizes) // 2) if (sizes[p:] == sizes[:-p]).all()), 0)
    if not period:
        return None
    turn = sizes[-period:]
    base, stride = int(starts[-1]), int(turn.sum())
    times = (len(data) - base) // stride
    offsets = np.cumsum(turn) - turn
    for size, offset in zip(turn.tolist(), offsets.tolist(), strict=True):
        if times:
            lengths = np.ndarray((times,), "<u8", data, base + offset, (stride,))
            same = lengths == size - FRAME_BYTES
            times = times if same.all() else int(np.argmin(same))
    if not times:
        return None
    ends = (base + stride * np.arange(times)[:, None] + np.cumsum(turn)[None, :]).ravel()
    return ends.astype(np.int64)


def _of_one_size(raw: NDArray[np.uint8], starts: Ints, size: int) -> NDArray[np.uint8]:
    """Records of one size; without copying where they follow each other."""
    first, last = int(starts[0]), int(starts[-1])
    if last - first == (len(starts) - 1) * size and (np.diff(starts) == size).all():
        return raw[first : last + size].reshape(-1, size)
    return np.lib.stride_tricks.sliding_window_view(raw, size)[starts]


def _lengths_are_right(raw: NDArray[np.uint8], starts: Ints, lengths: Ints) -> NDArray[np.bool_]:
    if not len(starts):
        return np.ones(0, bool)
    known, index = np.unique(lengths, return_inverse=True)
    wanted = crc32c.masked(crc32c.checksums(known.astype("<i8")[:, None].view(np.uint8)))
    heads = np.lib.stride_tricks.sliding_window_view(raw, 12)[starts]
    return np.ascontiguousarray(heads[:, 8:]).view("<u4").ravel() == wanted[index]


def _resync(data: bytes, position: int) -> int | None:
    """Where the next length stands whose checksum is right and whose record lies wholly in `data`."""
    raw = np.frombuffer(data, np.uint8)
    while position + 12 <= len(data):
        heads = np.lib.stride_tricks.sliding_window_view(raw[position : position + _WINDOW + 11], 12)
        lengths = np.ascontiguousarray(heads[:, :8]).view("<u8").ravel()
        room = len(data) - position - np.arange(len(heads)) - FRAME_BYTES
        fits = np.flatnonzero((lengths < 1 << 62) & (lengths.astype(np.int64) <= room))
        candidates = np.ascontiguousarray(heads[fits])
        right = crc32c.masked(crc32c.checksums(np.ascontiguousarray(candidates[:, :8])))
        found = np.flatnonzero(right == np.ascontiguousarray(candidates[:, 8:]).view("<u4").ravel())
        if len(found):
            return position + int(fits[found[0]])
        position += _WINDOW
    return None


def _last_whole(whole: NDArray[np.bool_]) -> int:
    good = np.flatnonzero(whole)
    return int(good[-1]) if len(good) else -1
