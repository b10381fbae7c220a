"""The log files of one writer, one after the other, and in memory what they cannot take.

A row costs one frame; when a file is full the next begins, which defines anew the groups that it uses. What finds no
place (a full disk) waits in a ring, everything after it behind it, until `drain` moves it into the log. No method but
`sync` may be called from two threads at once.
"""

import math
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanal.record import frames
from fanal.record.files import line, sync_folder
from fanal.record.frames import EXACT_ROW, LONG_ROW, ROW, SHORT_TIME_LIMIT_NS, STEP_LIMIT
from fanal.record.group import Exact, Group
from fanal.record.log import FRAME_BYTES, LogFile
from fanal.record.ring import Held, Ring

MAX_GROUPS = 1024
"""More key sets than this are forgotten, the oldest first, and defined again when they come back."""
_ROW = struct.Struct("<qq")
"""Step and time, as a long row goes on after its first four bytes."""
Clock = Callable[[], int]
"""Nanoseconds since 1970; a virtual one lets days pass in a test."""


class Logs:
    """Appends to the last of a writer's log files."""

    def __init__(self, folder: Path, clock: Clock = time.time_ns) -> None:
        self.last = LogFile(folder / "1.log", 1, clock())
        self.full_bytes = 0
        """Of files that were filled since it was last set to 0."""
        self.ring = Ring()
        self.groups: dict[tuple[tuple[str, ...], tuple[type, ...]], Group] = {}
        self._folder = folder
        self._clock = clock
        self._number = 1
        self._full: list[LogFile] = []
        self._num_defined = 0
        self._synced = 0
        self._named = 0

    def group(self, keys: tuple[str, ...], types: tuple[type, ...]) -> Group:
        """The group of these keys and types (each one of float, int, bool)."""
        found = self.groups.get((keys, types))
        if found is None:
            while len(self.groups) >= MAX_GROUPS:
                del self.groups[next(iter(self.groups))]
            found = self.groups[keys, types] = Group(keys, types)
        return found

    def row(self, group: Group, step: int, now: int, values: tuple[Any, ...]) -> None:
        """Append one row of plain numbers; never raises for the disk."""
        exact = group.exact(values) if group.ints else None
        if not self.ring:
            try:
                if exact:
                    self._exact_row(group, step, now, values, exact)
                else:
                    self._plain_row(group, step, now, values)
                return
            except OSError as error:
                self.ring.reason = error.strerror or str(error)
        body = _ROW.pack(step, now) + struct.pack(f"<{len(values)}d", *map(_nearest_float, values))
        self.ring.add(Held(step, body + line(exact) if exact else body, group, EXACT_ROW if exact else LONG_ROW))

    def fact(self, step: int | None, payload: bytes) -> None:
        """Append an event or odd values; never raises for the disk."""
        held = Held(step, payload)
        if not self.ring:
            try:
                self._append(held)
                return
            except OSError as error:
                self.ring.reason = error.strerror or str(error)
        self.ring.add(held)

    def drain(self, most: int) -> bool:
        """Move up to so many frames from the ring into the log, before them the gap of what was dropped; is there more.

        Raises:
            OSError: there is still no space.
        """
        if self.ring.num_dropped:
            self._say_gap()
        for _ in range(min(most, len(self.ring.frames))):
            self._append(self.ring.frames[0])
            self.ring.pop()
        return bool(self.ring)

    def sync(self) -> None:
        """Wait for the disk: the full files first, which are then given back; appending may go on meanwhile.

        Raises:
            OSError: the disk does not confirm it.
        """
        while self._full:
            self._full[0].sync()
            self._full.pop(0).close()
        if self._number != self._named:
            self._named = self._number
            sync_folder(self._folder)
        if self.last.next_sequence != self._synced:
            reached = self.last.next_sequence
            self.last.sync()
            self._synced = reached

    def close(self) -> int:
        """Give the files back; how many frames found no place."""
        self.last.close()
        return len(self.ring.frames) + self.ring.num_dropped

    def _plain_row(self, group: Group, step: int, now: int, values: tuple[Any, ...]) -> None:
        log = self.last
        if group.log is not log:
            log = self._define(group)
        since = now - log.header.base_time_ns
        short = 0 <= since < SHORT_TIME_LIMIT_NS and -STEP_LIMIT <= step < STEP_LIMIT
        length = group.short.size if short else group.long.size
        if not log.room(length):
            self._roll(length + 2 * len(group.names) + 64)
            return self._plain_row(group, step, now, values)
        at = log.position + FRAME_BYTES
        if short:
            group.short.pack_into(log.map, at, group.head | ROW, step, since & 0xFFFFFFFF, since >> 32, *values)
        else:
            group.long.pack_into(log.map, at, group.head | LONG_ROW, step, now, *values)
        log.commit(length)
        return None

    def _exact_row(self, group: Group, step: int, now: int, values: tuple[Any, ...], exact: Exact) -> None:
        if group.log is not self.last:
            self._define(group)
        payload = frames.pack_exact_row(group.head, step, now, [_nearest_float(v) for v in values], exact)
        if not self.last.room(len(payload)):
            self._roll(len(payload) + 2 * len(group.names) + 64)
            return self._exact_row(group, step, now, values, exact)
        self.last.append(payload)
        return None

    def _append(self, held: Held) -> None:
        if held.group is not None and held.group.log is not self.last:
            self._define(held.group)
        payload = held.payload()
        if not self.last.room(len(payload)):
            self._roll(len(payload) + (2 * len(held.group.names) + 64 if held.group else 0))
            return self._append(held)
        self.last.append(payload)
        return None

    def _define(self, group: Group) -> LogFile:
        """Name the group's keys in the current log file: twice, since every row of it needs one of the two."""
        length = len(group.names) + frames.KIND.size
        if not self.last.room(2 * (FRAME_BYTES + length)):
            self._roll(2 * (FRAME_BYTES + length) + group.long.size)
        self._num_defined += 1
        group.head = self._num_defined << 8
        group.log = self.last
        payload = frames.pack_definition(self._num_defined, group.names)
        self.last.append(payload)
        self.last.append(payload)
        return self.last

    def _roll(self, least_bytes: int) -> None:
        old = self.last
        path = self._folder / f"{self._number + 1}.log"
        self.last = LogFile(path, old.next_sequence, self._clock(), least_bytes)
        self._number += 1
        self._num_defined = 0
        self._full.append(old)
        self.full_bytes += old.size

    def _say_gap(self) -> None:
        payload = frames.pack_event("gap", None, self._clock(), self.ring.gap())
        if not self.last.room(len(payload)):
            self._roll(len(payload))
        self.last.next_sequence += self.ring.num_dropped  # these stay empty, which every reader sees
        self.last.append(payload)
        self.ring.said()


def _nearest_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
