"""One writer: its folder, its log files, and the thread that syncs them and starts the closing process.

Adding a row costs one frame; nothing here waits for the disk but the thread (each 0.5 s) and `end`. All public
methods are safe to call from several threads. The closing process reads the log and never this process' memory.
"""

import math
import os
import threading
import time
from collections.abc import Mapping
from struct import Struct
from typing import Any

from fanal.record import frames, manifest
from fanal.record.closing import Closing
from fanal.record.files import make_folder, sync_folder
from fanal.record.frames import LONG_ROW, ROW, SHORT_TIME_LIMIT_NS, STEP_LIMIT
from fanal.record.layout import LOG, SEGMENTS, WriterPath
from fanal.record.log import FRAME_BYTES, LogFile
from fanal.record.notice import Notices
from fanal.record.owner import TOUCH_SECONDS
from fanal.record.values import EXACT_INT, encode

SYNC_SECONDS = 0.5
CLOSE_ROWS = 4096
CLOSE_BYTES = 64 << 20


Exact = list[tuple[int, Any]]
"""Positions in a row and encoded values that a float64 cannot hold."""


class Group:
    """Keys logged together with one set of value types, and where the current log file defines them."""

    __slots__ = ("head", "ints", "keys", "log", "long", "names", "rows", "short", "types")

    def __init__(self, keys: tuple[str, ...], types: tuple[type, ...]) -> None:
        codes = "".join(frames.TYPE_CODES[t] for t in types)
        self.keys = keys
        self.types = types
        self.ints = tuple(position for position, code in enumerate(codes) if code == "i")
        self.names = frames.pack_names(keys, codes)
        self.short = Struct(f"{frames.SHORT.format}{len(keys)}d")
        self.long = Struct(f"{frames.LONG.format}{len(keys)}d")
        self.log: LogFile | None = None
        self.head = 0
        """Kind and number in `log`, as a row's payload begins."""
        self.rows = 0
        """Rows since the last closing was asked for."""

    def exact(self, values: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """Positions and encoded forms of the integers that a float64 cannot hold."""
        found = [p for p in self.ints if not -EXACT_INT <= values[p] <= EXACT_INT]
        return [(p, encode(values[p])) for p in found]


class Writer:
    """Appends rows, events and odd values to its own folder of an attempt."""

    def __init__(self, place: WriterPath, notices: Notices) -> None:
        self.place = place
        self._notices = notices
        self._folder = place.folder / LOG
        make_folder(self._folder)
        make_folder(place.folder / SEGMENTS)
        self._lock = threading.Lock()
        self._number = 1
        self._log = LogFile(self._folder / "1.log", 1, time.time_ns())
        self._full: list[LogFile] = []
        self._groups: dict[tuple[tuple[str, ...], tuple[type, ...]], Group] = {}
        self._num_defined = 0
        self._full_bytes = 0
        self._due = False
        self._commit = False
        self._ended = False
        self._synced = 0
        self._named = 0
        self._closing = Closing(place.folder)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="fanal-record", daemon=True)
        self._thread.start()

    def group(self, keys: tuple[str, ...], types: tuple[type, ...]) -> Group:
        """The group of these keys and types (each one of float, int, bool)."""
        found = self._groups.get((keys, types))
        if found is None:
            found = self._groups[keys, types] = Group(keys, types)
        return found

    def row(self, group: Group, step: int, values: tuple[Any, ...]) -> None:
        """Append one row of plain numbers."""
        now = time.time_ns()
        exact = group.exact(values) if group.ints else None
        with self._lock:
            if self._ended:
                return
            try:
                if exact:
                    self._exact_row(group, step, now, values, exact)
                else:
                    self._plain_row(group, step, now, values)
            except OSError as error:
                self._lost(error)
            group.rows += 1
            if group.rows >= CLOSE_ROWS:
                self._due = True

    def event(self, kind: str, step: int | None, fields: Mapping[str, Any]) -> None:
        """Append an event whose fields are encoded."""
        self._fact(frames.pack_event(kind, step, time.time_ns(), fields))

    def other(self, step: int, values: Mapping[str, Any]) -> None:
        """Append values that are no numbers, encoded."""
        self._fact(frames.pack_other(step, time.time_ns(), values))

    def commit(self) -> None:
        """Have the record's manifest written again soon, by the thread."""
        self._commit = True

    def abandon(self) -> None:
        """Give the log back as it is: a later process closes it."""
        self._stop.set()
        self._thread.join()
        with self._lock:
            self._ended = True
            self._sync()
            self._log.close()

    def end(self) -> None:
        """Wait until the disk has everything, close all segments and write the manifest; nothing touches them after."""
        self.abandon()
        if (failed := self._closing.finish()) is not None:
            self._notices.once("closing", f"the log was kept but not closed: {failed}")
            manifest.commit(self.place.record)

    def _plain_row(self, group: Group, step: int, now: int, values: tuple[Any, ...]) -> None:
        log = self._log
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
        if group.log is not self._log:
            self._define(group)
        payload = frames.pack_exact_row(group.head, step, now, [_nearest_float(v) for v in values], exact)
        if not self._log.room(len(payload)):
            self._roll(len(payload) + 2 * len(group.names) + 64)
            return self._exact_row(group, step, now, values, exact)
        self._log.append(payload)
        return None

    def _define(self, group: Group) -> LogFile:
        """Name the group's keys in the current log file: twice, since every row of it needs one of the two."""
        length = len(group.names) + frames.KIND.size
        if not self._log.room(2 * (FRAME_BYTES + length)):
            self._roll(2 * (FRAME_BYTES + length) + group.long.size)
        self._num_defined += 1
        group.head = self._num_defined << 8
        group.log = self._log
        payload = frames.pack_definition(self._num_defined, group.names)
        self._log.append(payload)
        self._log.append(payload)
        return self._log

    def _fact(self, payload: bytes) -> None:
        with self._lock:
            if self._ended:
                return
            try:
                if not self._log.room(len(payload)):
                    self._roll(len(payload))
                self._log.append(payload)
            except OSError as error:
                self._lost(error)

    def _roll(self, least_bytes: int) -> None:
        old = self._log
        path = self._folder / f"{self._number + 1}.log"
        self._log = LogFile(path, old.next_sequence, time.time_ns(), least_bytes)
        self._number += 1
        self._num_defined = 0
        self._full.append(old)
        self._full_bytes += old.size
        if self._full_bytes >= CLOSE_BYTES:
            self._due = True

    def _lost(self, error: OSError) -> None:
        """A frame that found no place: its sequence number stays empty, which every reader sees."""
        self._log.next_sequence += 1
        self._notices.once("disk", f"rows are being lost, the log cannot grow: {error.strerror or error}")

    def _keep(self) -> None:
        touched = time.monotonic()
        while not self._stop.wait(SYNC_SECONDS):
            self._sync()
            if (failed := self._closing.result()) is not None:
                self._notices.once("closing", f"the log was kept but not closed: {failed}")
            try:
                if self._commit:
                    self._commit = False
                    manifest.commit(self.place.record)
                if self._due and self._closing.start():
                    self._restart_count()
                if time.monotonic() - touched > TOUCH_SECONDS:
                    touched = time.monotonic()
                    os.utime(self._log.path)
            except OSError as error:
                self._notices.once("closing", f"the closing process cannot start: {error.strerror or error}")

    def _restart_count(self) -> None:
        with self._lock:
            self._due = False
            self._full_bytes = 0
            for group in self._groups.values():
                group.rows = 0

    def _sync(self) -> None:
        """The full files first, which are then given back; the training thread may go on appending meanwhile."""
        try:
            while self._full:
                self._full[0].sync()
                self._full.pop(0).close()
            if self._number != self._named:
                self._named = self._number
                sync_folder(self._folder)
            if self._log.next_sequence != self._synced:
                reached = self._log.next_sequence
                self._log.sync()
                self._synced = reached
        except OSError as error:
            self._notices.once("sync", f"the disk does not confirm the log: {error.strerror or error}")


def _nearest_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
