"""The open end of a writer's history: what its log holds, read again and again at the cost of what is new.

Reads from another process, without locks, at any moment: an unfinished frame is simply not there yet. Frames that a
segment covers are forgotten. Damage is a bad frame with good ones after it that is still bad on a second look, and a
file whose frames were there before: these are not read again. Missing sequence numbers are counted, whatever the cause.
"""

import json
import os
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanal.record import frames
from fanal.record.frames import Definition, Fact, Row
from fanal.record.layout import LOG, numbered
from fanal.record.log import FIRST_FRAME, FRAME_BYTES, Damage, Frame, LogHeader, read_header, scan, torn_bytes

READ_ERRORS = (ValueError, KeyError, TypeError, IndexError, zlib.error, json.JSONDecodeError)
"""What a payload with a right checksum and wrong content may raise: another version's, or a forgery."""


MARK_BYTES = 1 << 20
"""How often a place in the log is remembered, for `sequence_at_bytes`."""


@dataclass
class TailGroup:
    """Rows of keys that are logged together, in order of sequence; `values` is row after row of float64."""

    keys: tuple[str, ...]
    steps: "array[int]" = field(default_factory=lambda: array("q"))
    times_ns: "array[int]" = field(default_factory=lambda: array("q"))
    sequences: "array[int]" = field(default_factory=lambda: array("q"))
    values: bytearray = field(default_factory=bytearray)
    types: list[str] = field(default_factory=list[str])
    """By row, a letter a key: f, i, b."""
    exact: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    """By sequence and key, encoded: integers that a float64 cannot hold."""

    def add(self, sequence: int, row: Row, defined: "Defined") -> None:
        """Append one row, its values in this group's order of keys."""
        self.steps.append(row.step)
        self.times_ns.append(row.time_ns)
        self.sequences.append(sequence)
        values, types = row.values, defined.types
        if defined.order is not None:
            one = array("d", values)
            values = array("d", [one[p] for p in defined.order]).tobytes()
            types = "".join(types[p] for p in defined.order)
        self.values += values
        self.types.append(types)
        if row.exact:
            self.exact[sequence] = {defined.keys[position]: value for position, value in row.exact}

    def forget(self, sequence: int) -> None:
        """Drop the rows up to `sequence`."""
        gone = bisect_right(self.sequences, sequence)
        del self.steps[:gone], self.times_ns[:gone], self.sequences[:gone], self.types[:gone]
        del self.values[: gone * 8 * len(self.keys)]
        self.exact = {s: values for s, values in self.exact.items() if s > sequence}


@dataclass(frozen=True)
class Defined:
    """A definition of one log file, and the group its rows belong to."""

    keys: tuple[str, ...]
    types: str
    group: TailGroup
    order: tuple[int, ...] | None
    """Positions of the group's keys in this definition; None where they are the same."""


@dataclass
class _File:
    """How far one log file has been read."""

    path: Path
    header: LogHeader | None = None
    position: int = FIRST_FRAME
    least: int = 0
    defined: dict[int, Defined] = field(default_factory=dict[int, Defined])
    widths: dict[int, int] = field(default_factory=dict[int, int])
    complete: bool = False
    repeats: bool = False
    """It holds frames whose numbers do not rise above those before."""
    torn: int = 0


class LogTail:
    """What the log files of one writer hold beyond `covered`."""

    def __init__(self, writer_folder: Path, covered: int = 0) -> None:
        self.covered = covered
        self.groups: dict[frozenset[str], TailGroup] = {}
        self.facts: list[tuple[int, Fact]] = []
        self.next_sequence = 0
        """One more than the last whole frame's; 0 where nothing has been read."""
        self.num_frames = 0
        self._bytes = 0
        self._forgotten_bytes = 0
        self._marks: list[tuple[int, int]] = []
        self.damage: list[str] = []
        self.num_damaged = 0
        self.missing: list[tuple[int, int]] = []
        """First and last of sequence numbers that no frame has."""
        self._folder = writer_folder / LOG
        self._files: dict[int, _File] = {}

    @property
    def torn(self) -> int:
        """Bytes after the last whole frames of the files: a frame cut short."""
        return sum(file.torn for file in self._files.values())

    @property
    def num_bytes(self) -> int:
        """Bytes of the frames beyond `covered`, to a mebibyte."""
        return self._bytes - self._forgotten_bytes

    def last_sequences(self) -> dict[str, int]:
        """By log file, the number of its last whole frame; files without one are left out."""
        read = [(file, file.header) for file in self._files.values() if file.least]
        return {file.path.name: header.first_sequence + file.least - 1 for file, header in read if header}

    def sequence_at_bytes(self, num_bytes: int) -> int:
        """A frame up to which those beyond `covered` are about so many bytes; 0 where they are fewer."""
        if self.num_bytes < num_bytes or not self._marks:
            return 0
        within = [s for total, s in self._marks if total - self._forgotten_bytes <= num_bytes]
        return max(within, default=self._marks[0][1])

    def refresh(self, enough_bytes: int | None = None) -> bool:
        """Read what is new, no further file after `enough_bytes` of frames; whether anything was."""
        before = self.num_frames
        numbers = numbered(self._folder, ".log")
        for number in numbers:
            if enough_bytes is not None and self.num_bytes >= enough_bytes:
                break
            file = self._files.setdefault(number, _File(self._folder / f"{number}.log"))
            if not file.complete:
                self._read(file)
                file.complete = number != numbers[-1]
        return self.num_frames != before

    def forget(self, sequence: int) -> None:
        """Drop everything up to `sequence`: a segment covers it."""
        if sequence <= self.covered:
            return
        self.covered = sequence
        for group in self.groups.values():
            group.forget(sequence)
        self.facts = [fact for fact in self.facts if fact[0] > sequence]
        self.missing = [gap for gap in self.missing if gap[1] > sequence]
        self._forgotten_bytes = max((total for total, s in self._marks if s <= sequence), default=self._forgotten_bytes)
        self._marks = [mark for mark in self._marks if mark[1] > sequence]

    def _read(self, file: _File) -> None:
        try:
            data = _bytes_from(file.path, file.position if file.header else 0)
        except FileNotFoundError:
            return  # closed and dropped since the folder was listed: its segment is there by now
        if file.header is None:
            file.header = read_header(data)
            if file.header is None:
                file.torn = torn_bytes(data, 0)
                return
            data = data[FIRST_FRAME:]
        found = list(scan(data, file.header, 0, file.least))
        if any(isinstance(one, Damage) for one in found):
            data = _bytes_from(file.path, file.position)  # the writer may have been at work on that very frame
            found = list(scan(data, file.header, 0, file.least))
        end = 0
        for one in found:
            if isinstance(one, Damage):
                self._damaged(file, file.position + one.position, f"{one.num_bytes} bytes are no frame")
                continue
            self._take(file, one, file.header)
            end = one.position + FRAME_BYTES + len(one.payload)
            file.least = one.sequence - file.header.first_sequence + 1
        file.torn = torn_bytes(data, end)
        file.position += end

    def _take(self, file: _File, frame: Frame, header: LogHeader) -> None:
        if frame.sequence < self.next_sequence:
            if not file.repeats:
                file.repeats = True
                what = f"frame {frame.sequence} comes after frame {self.next_sequence - 1}: its number does not rise"
                self._damaged(file, file.position + frame.position, what)
            return
        self.num_frames += 1
        if frame.sequence > self.covered:
            self._bytes += FRAME_BYTES + len(frame.payload)
            if not self._marks or self._bytes - self._marks[-1][0] >= MARK_BYTES:
                self._marks.append((self._bytes, frame.sequence))
        expected = max(self.next_sequence, self.covered + 1)
        if frame.sequence > expected:
            self.missing.append((expected, frame.sequence - 1))
        self.next_sequence = frame.sequence + 1
        try:
            said = frames.unpack(frame.payload, header.base_time_ns, file.widths)
            if isinstance(said, Definition):
                self._define(file, said)
            elif frame.sequence <= self.covered:
                return
            elif isinstance(said, Row):
                defined = file.defined[said.group]
                defined.group.add(frame.sequence, said, defined)
            else:
                self.facts.append((frame.sequence, said))
        except READ_ERRORS as error:
            self._damaged(file, file.position + frame.position, f"frame {frame.sequence} says nothing known ({error})")
            self.missing.append((frame.sequence, frame.sequence))

    def _define(self, file: _File, definition: Definition) -> None:
        wanted = frozenset(definition.keys)
        group = self.groups.get(wanted)
        if group is None:
            group = self.groups[wanted] = TailGroup(definition.keys)
        order = None
        if group.keys != definition.keys:
            place = {key: position for position, key in enumerate(definition.keys)}
            order = tuple(place[key] for key in group.keys)
        file.defined[definition.number] = Defined(definition.keys, definition.types, group, order)
        file.widths[definition.number] = len(definition.keys)

    def _damaged(self, file: _File, position: int, what: str) -> None:
        self.num_damaged += 1
        self.damage.append(f"{LOG}/{file.path.name} at byte {position}: {what}")


def _bytes_from(path: Path, position: int) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(handle, max(os.fstat(handle).st_size - position, 0), position)
    finally:
        os.close(handle)
