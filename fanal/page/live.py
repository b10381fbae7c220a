"""A record that may still grow, as the page's newest view: rebuilt when asked for, never more than twice a second.

Nobody looking costs nothing. A rebuild that takes long is made rarer, so that the page takes at most a
tenth of a core from the training beside it. A path without a record yet gives the waiting page. Reads
only; of the record it shows and serves what a published copy would hold, withheld writers left out.
"""

import threading
import time
from collections import OrderedDict
from pathlib import Path

from fanal.errors import RecordError
from fanal.page.public import Piece, PublicRecord
from fanal.page.site import View, view
from fanal.page.state import page_state, waiting_state
from fanal.record.files import DamagedError, sha256
from fanal.record.layout import MANIFEST_FILE, RECORD_FILE, find_record
from fanal.record.proof.checkpoint import Signer
from fanal.record.proof.keys import signer_for
from fanal.record.reading.read import Record

MIN_SECONDS = 0.5
SHARE_OF_A_CORE = 0.1
KEPT_VIEWS = 32


class LivePage:
    """The newest view of the record at `path`, and the few before it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._record: Record | None = None
        self._opened: tuple[int, int] | None = None
        self._views: OrderedDict[str, bytes] = OrderedDict()
        self._newest: View | None = None
        self._next_build = 0.0
        self._public: PublicRecord | None = None
        self._public_of: tuple[int, int] | None = None
        self._signer: Signer | None = None
        self._manifest: bytes | None = None
        self._next_look = 0.0
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
        """The record's public file of that name, or None; `name` is looked up and never made into a path."""
        with self._lock:
            if name == MANIFEST_FILE:
                return self._record_manifest()
            piece = self._piece(name)
        try:
            return piece.read() if piece else None
        except FileNotFoundError:  # a log that was closed into a segment since
            return None

    def record_sha256(self) -> str | None:
        """SHA-256 of the record's published manifest, or None before there is one."""
        with self._lock:
            manifest = self._record_manifest()
        return sha256(manifest) if manifest is not None else None

    def _piece(self, name: str) -> Piece | None:
        if self._public is None or name not in self._public.files:
            self._record_manifest()
        return self._public.files.get(name) if self._public else None

    def _record_manifest(self) -> bytes | None:
        """The published manifest, at most half a second old."""
        folder = self._folder()
        if folder is None:
            self._public = self._manifest = None
            return None
        identity = _identity(folder)
        if self._public is None or self._public_of != identity:
            self._public, self._public_of, self._next_look = PublicRecord(folder, look=False), identity, 0.0
            self._signer = usable_signer(folder)[0]
        if time.monotonic() >= self._next_look:
            began = time.monotonic()
            self._public.refresh()
            made = self._public.render(self._signer)
            self._manifest = made.data if made else None
            self._next_look = time.monotonic() + max(MIN_SECONDS, (time.monotonic() - began) / SHARE_OF_A_CORE)
        return self._manifest

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
        identity = _identity(folder)
        if self._record is None or self._opened != identity:  # a record made anew in the same place is another one
            self._record, self._opened = Record(folder, public=True), identity
        else:
            self._record.refresh()
        return view(page_state(self._record), None)


def usable_signer(record: Path) -> tuple[Signer | None, str | None]:
    """Who signs what is published of a record, and why nobody does where there is a key."""
    try:
        return signer_for(record), None
    except (RecordError, DamagedError) as error:
        return None, f"not signed: {error}"


def _identity(folder: Path) -> tuple[int, int]:
    found = (folder / RECORD_FILE).stat()
    return found.st_ino, found.st_mtime_ns
