"""One writer as a reader sees it: its closed segments, and behind them what its log holds beyond.

A refresh reads the log first and lists the segments after, so that rows which are just being closed are seen once: a
log file is dropped only after the segment that covers it is there. What lies behind a final segment is nobody's, and is
not read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.record.frames import Fact
from fanal.record.layout import SEGMENTS, WriterPath, numbered
from fanal.record.reading.lineage import FIRST_OF_ALL
from fanal.record.segments.segment import Fetch, Group, Segment, Slot, nowhere
from fanal.record.segments.tail import LogTail, TailGroup


@dataclass(frozen=True)
class Piece:
    """Points of one key that lie together, in order of sequence."""

    steps: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    sequences: NDArray[np.int64]
    values: Callable[[], NDArray[np.float64]]
    """Read when called: who has tiles may not need them."""
    rising: bool
    """Each step is above the one before."""
    tiles: tuple[Segment, Slot] | None


class WriterView:
    """What one writer has written, as of the last refresh."""

    def __init__(self, place: WriterPath, fetch: Fetch = nowhere) -> None:
        self.place = place
        self._fetch = fetch
        self.segments: list[Segment] = []
        self.tail = LogTail(place.folder)

    @property
    def ended(self) -> bool:
        """The last segment says that nothing came after it."""
        return bool(self.segments) and self.segments[-1].final

    def refresh(self) -> bool:
        """Read what is new; whether anything was."""
        if self.ended:
            return False
        new = self.tail.refresh()
        for number in numbered(self.place.folder / SEGMENTS, ".json"):
            if self.ended:
                break
            if number > len(self.segments):
                self.segments.append(Segment.open(self.place, number, self._fetch))
                self.tail.forget(self.segments[-1].last_sequence)
                new = True
        if self.ended:
            self.tail.forget(self.tail.next_sequence - 1)
        return new

    def keys(self) -> Iterator[str]:
        """Every key with a number, in order of first appearance; some more than once."""
        seen: set[int] = set()
        for segment in self.segments:
            for group in segment.groups:
                if id(group.keys) not in seen:  # segments with the same names share them
                    seen.add(id(group.keys))
                    yield from group.keys
        for group in self.tail.groups.values():
            if group.sequences:
                yield from group.keys

    def pieces(self, key: str) -> Iterator[Piece]:
        """The points of a key, in order of closing."""
        for segment in self.segments:
            for group in segment.groups_of(key):
                yield _segment_piece(segment, group, key)
        for group in self.tail.groups.values():
            if key in group.keys and group.sequences:
                yield _tail_piece(group, group.keys.index(key))

    def edge_pieces(self, key: str, first_step: int, end_step: int, last: bool) -> Iterator[Piece]:
        """The pieces that may hold the last (or first) point of a key among `first_step <= step < end_step`."""
        held = [(segment, group) for segment in self.segments for group in segment.groups_of(key)]
        reaches = [_reach(group, first_step, end_step, last) for _, group in held]
        surely = max((reach[0] for reach in reaches if reach), default=FIRST_OF_ALL)
        for (segment, group), reach in zip(held, reaches, strict=True):
            if reach and reach[1] >= surely:
                yield _segment_piece(segment, group, key)
        for group in self.tail.groups.values():
            if key in group.keys and group.sequences:
                yield _tail_piece(group, group.keys.index(key))

    def facts(self) -> Iterator[tuple[int, Fact]]:
        """Events and odd values with their sequence numbers, in order."""
        for segment in self.segments:
            yield from segment.facts()
        yield from self.tail.facts

    def exact(self, key: str) -> Iterator[tuple[int, str, Any]]:
        """Sequence, type letter and encoded value (None where the float64 holds it) of each point of a key."""
        for segment in self.segments:
            yield from segment.exact(key)
        for group in self.tail.groups.values():
            if key in group.keys:
                position = group.keys.index(key)
                for sequence, types in zip(group.sequences, group.types, strict=True):
                    yield sequence, types[position], group.exact.get(sequence, {}).get(key)

    def typed(self, key: str, sequence: int) -> tuple[str, Any]:
        """Type letter and encoded value (None where the float64 holds it) of one point of a key."""
        for segment in self.segments:
            if segment.first_sequence <= sequence <= segment.last_sequence:
                return segment.typed(key, sequence)
        return next((letter, value) for number, letter, value in self.exact(key) if number == sequence)

    def first_step(self) -> int | None:
        """The step of the first row."""
        firsts = [(g.first_sequence, g.first_row_step) for s in self.segments[:1] for g in s.groups]
        firsts += [(g.sequences[0], g.steps[0]) for g in self.tail.groups.values() if g.sequences]
        return min(firsts)[1] if firsts else None

    def least_step(self, first_step: int, end_step: int) -> int | None:
        """The lowest step of a row among `first_step <= step < end_step`."""
        found: list[int] = []
        for segment in self.segments:
            for group in segment.groups:
                if first_step <= group.min_step < end_step:
                    found.append(group.min_step)
                elif group.min_step < first_step <= group.max_step:
                    found += [step for step in segment.rows(group).steps.tolist() if first_step <= step < end_step]
        for group in self.tail.groups.values():
            found += [step for step in group.steps if first_step <= step < end_step]
        return min(found, default=None)


def _reach(group: Group, first_step: int, end_step: int, last: bool) -> tuple[int, int] | None:
    """How far the points of a group reach inside, at least and at most, towards the end that is asked for."""
    low, high, first, final = group.min_step, group.max_step, first_step, end_step - 1
    if not last:
        low, high, first, final = -high, -low, -final, -first
    if high < first or low > final:
        return None
    surely = high if high <= final else low if low >= first else FIRST_OF_ALL
    return surely, min(high, final)


def _segment_piece(segment: Segment, group: Group, key: str) -> Piece:
    rows, slot = segment.rows(group), segment.slot("tiles", group, key)
    values, tiles = partial(segment.values, group, key), (segment, slot) if slot else None
    return Piece(rows.steps, rows.times_ns, rows.sequences, values, group.rising, tiles)


def _tail_piece(group: TailGroup, position: int) -> Piece:
    width = len(group.keys)
    values = np.frombuffer(group.values, "<f8").reshape(-1, width)[:, position].copy()
    steps = np.array(group.steps, np.int64)
    rising = bool((np.diff(steps) > 0).all())
    times_ns, sequences = np.array(group.times_ns, np.int64), np.array(group.sequences, np.int64)
    return Piece(steps, times_ns, sequences, lambda: values, rising, None)
