"""Blobs: bytes that people supply, each a file `blobs/<sha256 of nonce and bytes>`, 16 random bytes before them.

The random bytes make the hash say nothing about the content, so that a redaction can remove the file and leave its
hash. A blob has its name only once it is whole, and a killed process loses none; the writer's thread makes the disk
confirm it. What finds no place is held in memory up to `HELD_BYTES` and tried again. A full disk raises nothing here.
"""

import hashlib
import os
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from fanal.errors import RecordError
from fanal.record.files import TEMPORARY_PREFIX, sync_file, sync_folder, write_all
from fanal.record.layout import BLOBS
from fanal.record.notice import Notices
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.values import BlobRef

NONCE_BYTES = 16
HELD_BYTES = 8 << 20
LOCK_SECONDS = 0.1
"""A writer's thread waits no longer: who has the lock may be interrupted by a handler that waits for this thread."""
PIECE_BYTES = 1 << 20
_NAME = re.compile("[0-9a-f]{64}")
PLAIN_BYTES = "application/octet-stream"


class Blobs:
    """Puts blobs into a record; safe to call from several threads."""

    def __init__(self, record: Path, notices: Notices) -> None:
        self.num_lost = 0
        self.last_error = ""
        self._folder = record / BLOBS
        self._notices = notices
        self._lock = threading.RLock()
        """Held for one blob at a time; a signal's handler may come in the midst of it."""
        self._unsynced: deque[str] = deque()
        self._held: deque[tuple[str, bytes]] = deque()
        self._held_bytes = 0

    def write(self, pieces: Iterable[bytes], media_type: str) -> BlobRef:
        """Put bytes, given whole or in pieces, into the record."""
        kept: list[bytes] | None = []
        num_bytes, temporary, handle, failed = 0, self._temporary(), -1, None
        hashed = hashlib.sha256()
        for piece in _after_nonce(pieces):
            hashed.update(piece)
            num_bytes += len(piece)
            if kept is not None:
                kept.append(piece)
                kept = kept if num_bytes <= HELD_BYTES else None
            if failed is None:
                try:
                    handle = self._open(temporary) if handle < 0 else handle
                    write_all(handle, piece)
                except OSError as error:
                    failed = error
        name = hashed.hexdigest()
        failed = self._name(temporary, handle, name, failed)
        if failed is not None:
            self._hold(name, b"".join(kept) if kept is not None else None, failed)
        return BlobRef({"$blob": name, "bytes": num_bytes - NONCE_BYTES, "type": media_type})

    def copy(self, path: Path, media_type: str) -> BlobRef:
        """Put a file's content into the record.

        Raises:
            OSError: the file itself cannot be read.
        """
        with path.open("rb") as source:
            return self.write(_pieces_of(source), media_type)

    def sync(self) -> None:
        """Try again what found no place, and wait until the disk has every blob; called by the writers' threads."""
        self._place_held(LOCK_SECONDS)
        names: list[str] = []
        with suppress(IndexError):  # another writer's thread takes from it too
            while True:
                names.append(self._unsynced.popleft())
        for name in names:
            try:
                sync_file(self._folder / name)
            except OSError as error:
                self._notices.once("blob sync", f"the disk does not confirm a blob: {error.strerror or error}")
        try:
            if names:
                sync_folder(self._folder)
        except OSError as error:
            self._notices.once("blob sync", f"the disk does not confirm a blob: {error.strerror or error}")

    def settle(self) -> None:
        """Try a last time; what still finds no place is lost."""
        self._place_held(-1)
        self.sync()
        with self._lock:
            self.num_lost += len(self._held)
            self._held.clear()
            self._held_bytes = 0

    def _open(self, temporary: Path) -> int:
        self._folder.mkdir(exist_ok=True)
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def _name(self, temporary: Path, handle: int, name: str, failed: OSError | None) -> OSError | None:
        """Give the whole file its name; what went wrong, if anything did."""
        if handle >= 0:
            os.close(handle)
        if failed is None:
            try:
                os.replace(temporary, self._folder / name)  # noqa: PTH105  named so that the tests can stop here
                self._unsynced.append(name)
                return None
            except OSError as error:
                failed = error
        if handle >= 0:
            temporary.unlink(missing_ok=True)
        return failed

    def _hold(self, name: str, data: bytes | None, error: OSError) -> None:
        self.last_error = error.strerror or str(error)
        with self._lock:
            if data is None or self._held_bytes + len(data) > HELD_BYTES:
                self.num_lost += 1
                words = "is lost"
            else:
                self._held.append((name, data))
                self._held_bytes += len(data)
                words = "waits in memory"
        self._notices.once("blob", f"a blob cannot be written and {words}: {self.last_error}")

    def _place_held(self, seconds: float) -> None:
        """One blob after the other, as long as there is space and the lock is free within so many seconds."""
        more = bool(self._held)
        while more and self._lock.acquire(timeout=seconds):
            try:
                more = bool(self._held) and self._place_first()
            finally:
                self._lock.release()

    def _place_first(self) -> bool:
        """Write the first of those that wait, under the lock; whether it has a place now."""
        name, data = self._held[0]
        temporary, handle, failed = self._temporary(), -1, None
        try:
            handle = self._open(temporary)
            write_all(handle, data)
        except OSError as error:
            failed = error
        if self._name(temporary, handle, name, failed) is not None:
            return False
        self._held.popleft()
        self._held_bytes -= len(data)
        return True

    def _temporary(self) -> Path:
        return self._folder / f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"


def read_blob(record: Path, ref: Mapping[str, Any] | str) -> bytes:
    """The bytes that a reference names, as they were given.

    Raises:
        RecordError: they were redacted (says why), are missing or have changed.
    """
    name = ref if isinstance(ref, str) else str(ref["$blob"])
    if _NAME.fullmatch(name) is None:
        raise RecordError(f"{name[:100]!r} names no blob: it must be 64 hexadecimal digits")
    try:
        data = (record / BLOBS / name).read_bytes()
    except FileNotFoundError as error:
        for fact in journal_facts(record, "redaction"):
            if fact.fields.get("blob") == name:
                raise RecordError(f"redacted: {fact.fields.get('reason')}") from error
        raise RecordError(f"blob {name} of {record} is missing: copy it from a record that has it") from error
    if hashlib.sha256(data).hexdigest() != name:
        raise RecordError(f"blob {name} of {record} has changed since it was written: restore it from a copy")
    return data[NONCE_BYTES:]


def _after_nonce(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield os.urandom(NONCE_BYTES)
    yield from pieces


def _pieces_of(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(PIECE_BYTES):
        yield piece
