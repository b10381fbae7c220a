"""One writer: its folder, its log, and the thread that syncs the log and has it closed.

Adding a row costs one frame; nothing here waits for the disk but the thread (each 0.5 s) and `end`. All public methods
are safe to call from several threads, and from a signal's handler in the midst of another call: what it logs follows.
The closing process reads the log and never this process' memory.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fanal.record import frames
from fanal.record.blobs import Blobs
from fanal.record.files import DamagedError
from fanal.record.group import Group
from fanal.record.layout import LOG, SEGMENTS, WriterPath
from fanal.record.logs import Clock, Logs
from fanal.record.notice import Notices
from fanal.record.owner import TOUCH_SECONDS
from fanal.record.proof import manifest
from fanal.record.segments.closing import AGED, DUE, Closing
from fanal.record.values import text_of

SYNC_SECONDS = 0.5
CLOSE_ROWS = 4096
CLOSE_BYTES = 64 << 20
CLOSE_SECONDS = 24 * 3600.0
"""By the writer's clock: what has been open for so long is closed however little it is."""
DRAIN_FRAMES = 256
"""Frames moved from the ring to the log while other threads wait."""
LOCK_SECONDS = 0.1
"""How often the thread, waiting for the lock, looks whether it is to stop."""
KEEPING_ERRORS = (Exception,)
"""What a part of the thread's work may raise without ending the thread: nobody else syncs the log or has it closed."""
_Row = tuple[Group, int, int, tuple[Any, ...]]
_Fact = tuple[int | None, bytes]


class Writer:
    """Appends rows, events and odd values to its own folder of an attempt."""

    def __init__(
        self, place: WriterPath, notices: Notices, blobs: Blobs | None = None, clock: Clock = time.time_ns
    ) -> None:
        self.place = place
        self._notices = notices
        self._blobs = blobs
        self._clock = clock
        for folder in (place.folder / LOG, place.folder / SEGMENTS):
            folder.mkdir(exist_ok=True)
        self._lock = threading.RLock()
        self._at_work = False
        """Seen as true under the lock only by a signal's handler, which interrupted that work."""
        self._deferred: list[_Row | _Fact] = []
        self._logs = Logs(place.folder / LOG, clock)
        self._due = False
        self._commit = False
        self._ended = False
        self._asked_ns = clock()
        """When a closing was last asked for, and for which frames."""
        self._asked_sequence = 1
        self._closing = Closing(place.folder)
        self._touched = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="fanal-record", daemon=True)
        self._thread.start()

    def known(self, keys: tuple[Any, ...], types: tuple[type, ...]) -> Group | None:
        """The group of these keys and types, where it has been made.

        Raises:
            TypeError: a key cannot be hashed.
        """
        return self._logs.groups.get((keys, types))

    def group(self, keys: tuple[str, ...], types: tuple[type, ...]) -> Group:
        """The group of these keys and types (each one of float, int, bool)."""
        with self._lock:
            return self._logs.group(keys, types)

    def row(self, group: Group, step: int, values: tuple[Any, ...], time_ns: int | None = None) -> None:
        """Append one row of plain numbers."""
        now = self._clock() if time_ns is None else time_ns
        with self._lock:
            if self._at_work:
                self._deferred.append((group, step, now, values))
                return
            if self._ended:
                return
            self._at_work = True
            try:
                if self._deferred:
                    self._catch_up()
                self._logs.row(group, step, now, values)
                group.rows += 1
                if group.rows >= CLOSE_ROWS:
                    self._due = True
                    group.rows = 0  # here, since a group that was forgotten is found by no one else
                if self._deferred:
                    self._catch_up()
            finally:
                self._at_work = False

    def event(self, kind: str, step: int | None, fields: Mapping[str, Any], time_ns: int | None = None) -> None:
        """Append an event whose fields are encoded."""
        self._fact(step, frames.pack_event(kind, step, self._clock() if time_ns is None else time_ns, fields))

    def other(self, step: int, values: Mapping[str, Any], time_ns: int | None = None) -> None:
        """Append values that are no numbers, encoded."""
        self._fact(step, frames.pack_other(step, self._clock() if time_ns is None else time_ns, values))

    def commit(self) -> None:
        """Have the record's manifest written again soon, by the thread."""
        self._commit = True

    def abandon(self) -> None:
        """Give the log back as it is: a later process closes it."""
        self._stop.set()
        self._thread.join()
        self._try(self._drain)
        with self._lock:
            self._catch_up()  # in a signal's handler, which interrupted a row: that row is not logged
            self._ended = True
            self._try(self._sync)
            if num_lost := self._logs.close():
                self._notices.once("lost", f"{num_lost} frames found no place in the log: {self._logs.ring.reason}")

    def end(self) -> None:
        """Wait until the disk has everything, close all segments and write the manifest; nothing touches them after."""
        self.abandon()
        failed = self._closing.finish()
        if failed is None:
            return
        self._notices.once("closing", f"the log was kept but not closed: {failed}")
        try:
            manifest.commit(self.place.record, changed=[self.place])
        except (OSError, DamagedError) as error:
            self._notices.once("commit", f"the manifest cannot be written: {error}")

    def _fact(self, step: int | None, payload: bytes) -> None:
        with self._lock:
            if self._at_work:
                self._deferred.append((step, payload))
                return
            if self._ended:
                return
            self._at_work = True
            try:
                self._catch_up()
                self._logs.fact(step, payload)
                self._catch_up()
            finally:
                self._at_work = False

    def _catch_up(self) -> None:
        """Log what a signal's handler logged in the midst of a row."""
        while self._deferred:
            one = self._deferred.pop(0)
            if len(one) == 2:
                self._logs.fact(*one)
            else:
                self._logs.row(*one)

    def _keep(self) -> None:
        while not self._stop.wait(SYNC_SECONDS):
            for part in (self._drain, self._sync, self._look_at_closing, self._start_what_is_due, self._touch):
                self._try(part)

    def _try(self, part: Callable[[], None]) -> None:
        """Do one part; what it cannot do is said once, and done the next time or by a later process."""
        try:
            part()
        except KEEPING_ERRORS as error:
            words = text_of(error) or type(error).__name__
            self._notices.once(f"keeping {part.__name__}", f"the log is kept, and not closed or committed now: {words}")

    def _look_at_closing(self) -> None:
        if (failed := self._closing.result()) is not None:
            self._notices.once("closing", f"the log was kept but not closed: {failed}")

    def _touch(self) -> None:
        if time.monotonic() - self._touched > TOUCH_SECONDS:
            self._touched = time.monotonic()
            os.utime(self._logs.last.path)

    def _take_lock(self) -> bool:
        """Take the lock, but for the thread once it is to stop: who waits for it may have the lock."""
        while not self._lock.acquire(timeout=LOCK_SECONDS):
            if self._stop.is_set() and threading.current_thread() is self._thread:
                return False
        return True

    def _drain(self) -> None:
        """Move what waits in memory into the log, if there is space again."""
        more = bool(self._logs.ring)
        if more:
            words = "rows wait in memory, and the oldest are lost where they are too many"
            self._notices.once("disk", f"the log cannot grow: {self._logs.ring.reason}; {words}")
        while more and self._take_lock():
            self._at_work = True
            try:
                more = self._logs.drain(DRAIN_FRAMES)
            except OSError as error:
                self._logs.ring.reason = error.strerror or str(error)
                return
            finally:
                self._at_work = False
                self._lock.release()

    def _start_what_is_due(self) -> None:
        if self._commit:
            self._commit = False
            manifest.commit(self.place.record, changed=[self.place])
        if self._logs.last.next_sequence == self._asked_sequence:
            self._asked_ns = self._clock()  # nothing is open: a day begins with the first frame
        aged = self._clock() - self._asked_ns >= CLOSE_SECONDS * 1e9
        due = self._due or self._logs.full_bytes >= CLOSE_BYTES
        if (due or aged) and self._closing.start(AGED if aged else DUE):
            self._restart_count()

    def _restart_count(self) -> None:
        if not self._take_lock():
            return
        try:
            self._due = False
            self._asked_ns, self._asked_sequence = self._clock(), self._logs.last.next_sequence
            self._logs.full_bytes = 0
            for group in self._logs.groups.values():
                group.rows = 0
        finally:
            self._lock.release()

    def _sync(self) -> None:
        """The training thread may go on appending meanwhile."""
        try:
            if self._blobs is not None:
                self._blobs.sync()
            self._logs.sync()
        except OSError as error:
            self._notices.once("sync", f"the disk does not confirm the log: {error.strerror or error}")
