"""The open end of a writer's log in slices: whole frames, cut once, immutable, named by their hash.

Slices of a log file follow each other from byte 0 on and are kept until a published segment covers the whole file, so
that a reader can put the file together again at any time. Small ones are merged by sixteens, so that a newcomer
fetches few; no slice is longer than 1 MiB unless a single frame is. Costs one look at every new byte.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanal.record.files import sha256
from fanal.record.frames import DEFINITION, EVENT, KIND, OTHER, TIMED, unpack
from fanal.record.layout import LOG, WriterPath, numbered
from fanal.record.log import FIRST_FRAME, FRAME_BYTES, Damage, Frame, LogHeader, read_header, scan
from fanal.record.proof.entries import TailSlice
from fanal.record.segments.tail import READ_ERRORS

MAX_SLICE_BYTES = 1 << 20
MERGED_AT_ONCE = 16

TakeFact = Callable[[str | None, Any], None]
"""Called with the kind of each event (None for odd values and names of keys) and what it says."""


@dataclass
class _Cut:
    """A slice, and how many cuts it was merged from."""

    about: TailSlice
    weight: int = 1


@dataclass
class _LogFile:
    path: Path
    header: LogHeader | None = None
    position: int = 0
    """End of the last whole frame that was looked at."""
    least: int = 0
    cuts: list[_Cut] = field(default_factory=list[_Cut])

    @property
    def end(self) -> int:
        """Up to where there are slices."""
        last = self.cuts[-1].about if self.cuts else None
        return last.offset + last.bytes if last else 0


class Slices:
    """What of a writer's logs is published as slices."""

    def __init__(self, place: WriterPath, take: TakeFact, known: Sequence[TailSlice] = ()) -> None:
        self.place = place
        self._take = take
        self._known = known
        self._logs: dict[int, _LogFile] = {}

    @property
    def slices(self) -> list[TailSlice]:
        """All slices, log after log."""
        return [cut.about for number in sorted(self._logs) for cut in self._logs[number].cuts]

    def path(self, about: TailSlice) -> Path:
        """The log file that a slice is of."""
        return self._logs[about.log].path

    def refresh(self) -> bool:
        """Cut what is new; whether anything was."""
        before = self.slices
        for number in numbered(self.place.folder / LOG, ".log"):
            if number not in self._logs:
                self._logs[number] = self._begin(number)
            try:
                self._cut(self._logs[number], number)
            except FileNotFoundError:
                continue  # closed and dropped since the folder was listed
        return self.slices != before

    def forget(self, covered: int) -> None:
        """Drop the log files that are gone and whose frames segments hold, up to the sequence `covered`."""
        for number, log in list(self._logs.items()):
            gone = not log.path.exists()
            if gone and all(cut.about.last_sequence <= covered for cut in log.cuts):
                del self._logs[number]

    def _begin(self, number: int) -> _LogFile:
        """A log file, with the slices of it that an earlier publisher cut, as far as they are of these bytes."""
        log = _LogFile(self.place.folder / LOG / f"{number}.log")
        known = sorted((one for one in self._known if one.log == number), key=lambda one: one.offset)
        for about in known:
            try:
                is_same = (
                    about.offset == log.end and sha256(read_bytes(log.path, about.offset, about.bytes)) == about.sha256
                )
            except FileNotFoundError:
                break
            if not is_same:
                log.cuts = []
                break
            log.cuts.append(_Cut(about))
        return log

    def _cut(self, log: _LogFile, number: int) -> None:
        for frames in _new_frames(log):
            for frame in frames:
                self._look(frame.payload, log.header)
            end = frames[-1].position + FRAME_BYTES + len(frames[-1].payload)
            if end > log.end:
                log.cuts.append(_Cut(self._slice(log, number, end, frames[-1].sequence)))
                self._merge(log, number)

    def _slice(self, log: _LogFile, number: int, end: int, last: int) -> TailSlice:
        assert log.header is not None, "frames were read after the header"
        before = log.cuts[-1].about.last_sequence if log.cuts else log.header.first_sequence - 1
        return self._about(log, number, (log.end, end), (before + 1, last))

    def _about(self, log: _LogFile, number: int, at: tuple[int, int], sequences: tuple[int, int]) -> TailSlice:
        start, end = at
        named = sha256(read_bytes(log.path, start, end - start))
        place = self.place
        return TailSlice(place.run, place.attempt, place.writer, number, start, end - start, named, *sequences)

    def _merge(self, log: _LogFile, number: int) -> None:
        """Sixteen slices of one weight become one."""
        while len(log.cuts) >= MERGED_AT_ONCE:
            last = log.cuts[-MERGED_AT_ONCE:]
            first, final = last[0].about, last[-1].about
            size = final.offset + final.bytes - first.offset
            if size > MAX_SLICE_BYTES or any(cut.weight != last[0].weight for cut in last):
                return
            at, sequences = (first.offset, final.offset + final.bytes), (first.first_sequence, final.last_sequence)
            merged = self._about(log, number, at, sequences)
            log.cuts[-MERGED_AT_ONCE:] = [_Cut(merged, last[0].weight * MERGED_AT_ONCE)]

    def _look(self, payload: bytes, header: LogHeader | None) -> None:
        """Show what a frame says to whoever must know, unless it is a row of numbers."""
        kind = KIND.unpack_from(payload)[0] & 0xFF
        try:
            if kind in (EVENT, OTHER):
                said = json.loads(payload[TIMED.size :])
                self._take(said.get("kind"), said["fields"])
            elif kind == DEFINITION:
                self._take(None, list(getattr(unpack(payload, 0, {}), "keys", ())))
        except READ_ERRORS:
            return  # a frame that no reader understands; it says nothing to anybody


def read_bytes(path: Path, offset: int, size: int) -> bytes:
    """A part of a file."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)


def _new_frames(log: _LogFile) -> Iterator[list[Frame]]:
    """The whole frames that came since the last look, with their places in the file, a slice's worth at a time."""
    if log.header is None:
        log.header = read_header(read_bytes(log.path, 0, FIRST_FRAME))
        log.position = FIRST_FRAME
    if log.header is None:
        return
    base = log.position
    found = list(scan(read_bytes(log.path, base, -1), log.header, 0, log.least))
    if any(isinstance(one, Damage) for one in found):  # it may be what the writer is just writing
        found = list(scan(read_bytes(log.path, base, -1), log.header, 0, log.least))
    frames: list[Frame] = []
    size = 0
    for one in found:
        if isinstance(one, Damage):
            continue
        frames.append(Frame(one.sequence, one.payload, base + one.position))
        size += FRAME_BYTES + len(one.payload)
        if size >= MAX_SLICE_BYTES:
            yield _looked_at(log, frames)
            frames, size = [], 0
    if frames:
        yield _looked_at(log, frames)


def _looked_at(log: _LogFile, frames: list[Frame]) -> list[Frame]:
    assert log.header is not None, "frames were read after the header"
    log.position = frames[-1].position + FRAME_BYTES + len(frames[-1].payload)
    log.least = frames[-1].sequence - log.header.first_sequence + 1
    return frames
