"""A record that may still grow, as the page's newest view: rebuilt when asked for, never more than twice a second.

Nobody looking costs nothing. A rebuild that takes long is made rarer, so that the page takes at most a
tenth of a core from the training beside it. A path without a record yet gives the waiting page. Reads
only; a record's file is served only if it is found there, a regular file under an ordinary name.
"""

import hashlib
import os
import re
import threading
import time
from collections import OrderedDict
from pathlib import Path

import fanal
from fanal.errors import RecordError
from fanal.page.site import View, view
from fanal.page.state import page_state, waiting_state
from fanal.record.layout import MANIFEST_FILE, RECORD_FILE, find_record
from fanal.record.read import Record

MIN_SECONDS = 0.5
SHARE_OF_A_CORE = 0.1
KEPT_VIEWS = 32
COPY_TRIES = 5
_PART = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,100}")


class LivePage:
    """The newest view of the record at `path`, and the few before it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._record: Record | None = None
        self._opened: tuple[int, int] | None = None
        self._views: OrderedDict[str, bytes] = OrderedDict()
        self._newest: View | None = None
        self._next_build = 0.0
        self._lock = threading.Lock()

    def newest(self) -> View:
        """The newest view; at most half a second old.

        Raises:
            RecordError: the record is damaged or of another format.
        """
        with self._lock:
            if self._newest is None or time.monotonic() >= self._next_build:
                began = time.monotonic()
                self._newest = self._build()
                took = time.monotonic() - began
                self._next_build = time.monotonic() + max(MIN_SECONDS, took / SHARE_OF_A_CORE)
                self._views[self._newest.name] = self._newest.body
                self._views.move_to_end(self._newest.name)
                while len(self._views) > KEPT_VIEWS:
                    self._views.popitem(last=False)
            return self._newest

    def view_body(self, name: str) -> bytes | None:
        """A recent view by its name, or None."""
        return self._views.get(name)

    def record_bytes(self, name: str) -> bytes | None:
        """The record's file of that name, or None; `name` is looked up and never made into a path."""
        folder = self._folder()
        path = dict(record_files(folder)).get(name) if folder else None
        try:
            return path.read_bytes() if path else None
        except FileNotFoundError:  # a log that was closed into a segment since it was listed
            return None

    def _folder(self) -> Path | None:
        try:
            return find_record(self._path)
        except RecordError:
            return None

    def _build(self) -> View:
        folder = self._folder()
        if folder is None:
            self._record = None
            return view(waiting_state(), None)
        found = (folder / RECORD_FILE).stat()
        identity = (found.st_ino, found.st_mtime_ns)
        if self._record is None or self._opened != identity:  # a record made anew in the same place is another one
            self._record, self._opened = fanal.open(folder), identity
        else:
            self._record.refresh()
        return view(page_state(self._record), manifest_sha256(folder))


def manifest_sha256(folder: Path) -> str | None:
    """SHA-256 of the record's own manifest, or None before there is one."""
    path = folder / MANIFEST_FILE
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def record_copy(folder: Path) -> dict[str, bytes]:
    """Every file of a record as it is now, its manifest last; a log closed in between is looked for again."""
    for _ in range(COPY_TRIES - 1):
        try:
            return {name: path.read_bytes() for name, path in record_files(folder)}
        except FileNotFoundError:
            continue
    return {name: path.read_bytes() for name, path in record_files(folder)}


def record_files(folder: Path) -> list[tuple[str, Path]]:
    """Every file of a record by its name in it, its own manifest last; links and odd names are left out."""
    found: list[tuple[str, Path]] = []
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if _PART.fullmatch(f))
        here = Path(at)
        for name in sorted(n for n in names if _PART.fullmatch(n)):
            path = here / name
            if path.is_file() and not path.is_symlink():
                found.append((path.relative_to(folder).as_posix(), path))
    found.sort(key=lambda pair: (pair[0] in (RECORD_FILE, MANIFEST_FILE), pair[0] == MANIFEST_FILE, pair[0]))
    return found
