"""A published record at an address, opened lazily: what is small comes at once, the rest when it is first asked for.

At once: the manifest, owner files, segment manifests, names, events and the open ends of logs; values, rows, tiles and
blobs later. Every file is held against its SHA-256 as it arrives and kept under `FANAL_CACHE` (or `~/.cache/fanal`),
so that a second opening fetches what is new; any number of processes may share that folder: files are put there whole,
and logs grow under a lock. Needs no more of a host than GET of whole files.
"""

import hashlib
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.record.copies.fetching import AbsentError, Address, AlteredError, Answer
from fanal.record.copies.history import by_log, covered, has_slice, last_frame, log_path, write_at
from fanal.record.files import DamagedError, sha256, unseal, write_whole
from fanal.record.layout import (
    BLOBS,
    LOG,
    MANIFEST_FILE,
    OWNER_FILE,
    RECORD_FILE,
    SEGMENTS,
    TAILS,
    WriterPath,
    numbered,
)
from fanal.record.lock import held
from fanal.record.proof.entries import Entry, TailSlice, read_page
from fanal.record.proof.manifest import Manifest, manifest_of

AT_ONCE = ("names", "facts")
"""Files of a segment that opening reads."""
AT_ONCE_BYTES = 32 << 20
"""Slices that are in memory at once."""
THREADS = 8


def cache_folder() -> Path:
    """Where fetched files are kept."""
    named = os.environ.get("FANAL_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fanal"


class CopiedSite:
    """A folder with the files of a published record as they are at an address: read in the same way."""

    def __init__(self, folder: Path) -> None:
        self.url = f"{folder.resolve().as_posix()}/"

    def within(self, folder: str) -> "CopiedSite":
        """A folder inside this one."""
        return CopiedSite(Path(self.url) / folder)

    def get(self, name: str, tag: str | None = None) -> Answer | None:
        """A file as it is now; None where its SHA-256 still is the tag."""
        try:
            data = (Path(self.url) / name).read_bytes()
        except FileNotFoundError as error:
            raise AbsentError(f"{self.url}{name} is not there") from error
        return None if sha256(data) == tag else Answer(data, sha256(data))

    def checked(self, name: str, wanted: str) -> bytes:
        """A file with that SHA-256."""
        answer = self.get(name)
        if answer is None or answer.tag != wanted:
            raise AlteredError(f"{self.url}{name} has changed since it was written: its SHA-256 is not {wanted}")
        return answer.body

    def close(self) -> None:
        """Nothing is open."""


class Remote:
    """A record at an address, and the folder with what of it has been fetched."""

    def __init__(self, base: Address | CopiedSite) -> None:
        self.address, self._first = _find(base)
        self.url = self.address.url
        self._idle = deque([self.address])
        weakref.finalize(self, _close, self._idle)
        record = str(_fields(self._first)["record_sha256"])
        name = hashlib.sha256(f"{self.url}\n{record}".encode()).hexdigest()[:32]
        self.folder = cache_folder() / "records" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self._tag: str | None = None
        self._seen: dict[tuple[str, int, str], Entry] = {}
        self._held: set[TailSlice] = set()
        """Slices whose bytes were found right in their logs."""
        self._record_sha256 = record
        self.fetch(self.folder / RECORD_FILE, record)

    def refresh(self) -> bool:
        """Fetch what is new; whether anything was.

        Raises:
            RecordError: the address does not answer, holds another record by now, or a file is not what its hash names.
        """
        with self._connection() as address:
            answer = self._first or address.get(MANIFEST_FILE, self._tag)
        self._first = None
        if answer is None:
            return False
        manifest = self._manifest(answer.body)
        changed = [entry for entry in manifest.entries if self._seen.get(entry.key) != entry]
        self._each(self._take_writer, [entry for entry in changed if entry.withheld is None])
        self._each(self._take_owner, [entry for entry in changed if entry.withheld is not None])
        slices = manifest.tails or ()
        self._take_tails(slices)
        self._drop_logs({(*one.key, one.log) for one in slices}, manifest)
        self._seen |= {entry.key: entry for entry in changed}
        self._tag = answer.tag
        return bool(changed or slices)

    def fetch(self, path: Path, wanted: str) -> None:
        """Make a file of the record's folder be there.

        Raises:
            AbsentError: it is not at the address.
            AlteredError: what is there has another hash.
            UnreachableError: the host did not answer as it should.
        """
        path = self._inside(path)
        if not path.is_file():
            self._put(path, self._checked(path.relative_to(self.folder).as_posix(), wanted))

    def fetch_blob(self, name: str) -> None:
        """Make a blob be there, unless it is at the address no more: then it was redacted, and goes from here too."""
        path = self._inside(self.folder / BLOBS / name)
        try:
            self.fetch(path, name)
        except AbsentError:
            path.unlink(missing_ok=True)

    def drop_blobs(self, names: Iterable[str]) -> None:
        """Remove what was redacted from what is kept here."""
        for name in names:
            self._inside(self.folder / BLOBS / name).unlink(missing_ok=True)

    def _inside(self, path: Path) -> Path:
        """`path`, which no name that the host chose leads out of the record's folder."""
        if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(self.folder)):
            raise RecordError(f"{self.url} names a file outside the record, {path}: do not trust who publishes it")
        return path

    @contextmanager
    def _connection(self) -> Iterator[Address | CopiedSite]:
        """A connection that no other thread uses meanwhile; kept for the next."""
        try:
            address = self._idle.pop()
        except IndexError:
            address = self.address.within("")
        try:
            yield address
        finally:
            self._idle.append(address)

    def _checked(self, name: str, wanted: str) -> bytes:
        with self._connection() as address:
            return address.checked(name, wanted)

    def _each(self, work: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Do `work` on every item, several at a time; the first error is raised."""
        with ThreadPoolExecutor(THREADS, "fanal-fetch") as pool:
            for done in [pool.submit(work, item) for item in items]:
                done.result()

    def _manifest(self, data: bytes) -> Manifest:
        """The manifest in `data`, its pages fetched."""
        fields = unseal(data)
        if isinstance(fields, str):
            raise AlteredError(f"{self.url}{MANIFEST_FILE} {fields}: ask who publishes it")
        if fields["record_sha256"] != self._record_sha256:
            raise RecordError(f"{self.url} holds another record by now: open it again")
        waiting = [*fields["pages"], *fields.get("tail_pages", ())]
        while waiting:
            self._each(lambda name: self.fetch(self.folder / BLOBS / name, name), waiting)
            waiting = [inner for name in waiting for inner in read_page(self.folder, name).get("pages", ())]
        try:
            return manifest_of(self.folder, data)
        except DamagedError as error:
            raise AlteredError(f"{self.url}{MANIFEST_FILE} {error.what}: ask who publishes it") from error

    def _take_owner(self, entry: Entry) -> None:
        self.fetch(self._place(entry).folder / OWNER_FILE, entry.owner_sha256)

    def _take_writer(self, entry: Entry) -> None:
        """A writer's owner file and new segments; a segment's manifest comes after the files that opening reads."""
        place = self._place(entry)
        last = max(numbered(place.folder / SEGMENTS, ".json"), default=0)
        for number, data, fields in self._chain(place, entry, last):
            for file in fields["files"]:
                if file["role"] in AT_ONCE:
                    self.fetch(place.folder / SEGMENTS / file["name"], file["sha256"])
            self._put(place.folder / SEGMENTS / f"{number}.json", data)
        self._take_owner(entry)

    def _chain(self, place: WriterPath, entry: Entry, last: int) -> list[tuple[int, bytes, Mapping[str, Any]]]:
        """Manifests of the segments after `last`, earliest first, each named by the hash in the one after it."""
        found: list[tuple[int, bytes, Mapping[str, Any]]] = []
        wanted = entry.last_sha256
        for number in range(entry.segments, last, -1):
            name = f"{place.name}/{SEGMENTS}/{number}.json"
            data = self._checked(name, str(wanted))
            fields = unseal(data)
            assert not isinstance(fields, str), "its hash was right"
            found.append((number, data, fields))
            wanted = fields["prev"]
        if last and last <= entry.segments:
            path = place.folder / SEGMENTS / f"{last}.json"
            if sha256(path.read_bytes()) != wanted:
                raise AlteredError(f"{self.url}{place.name} does not continue {path}: remove {self.folder}")
        return found[::-1]

    def _take_tails(self, slices: Iterable[TailSlice]) -> None:
        """The open ends of logs, put together from their slices, by whichever process needs them first.

        A log is begun when the one before it is whole: who reads it meanwhile takes earlier ones for ended.
        """
        logs = by_log(slices)
        self._held &= {one for parts in logs.values() for one in parts}
        needed = [one for parts in logs.values() for one in parts if not self._has(one)]
        while needed:
            some, size = list[TailSlice](), 0
            while needed and size < AT_ONCE_BYTES:
                size += needed[0].bytes
                some.append(needed.pop(0))
            fetched: dict[TailSlice, bytes] = {}
            self._each(lambda one, into=fetched: into.update({one: self._slice(one)}), some)
            with held(self.folder, LOG):
                for one in some:
                    self._write(one, fetched[one])

    def _has(self, one: TailSlice) -> bool:
        """Whether a slice is in its log here: its bytes were looked at once, and logs grow without gaps."""
        path = self._log(one)
        if one not in self._held and has_slice(path, one):
            self._held.add(one)
        return one in self._held and _size(path) >= one.offset + one.bytes

    def _slice(self, one: TailSlice) -> bytes:
        data = self._checked(f"{TAILS}/{one.sha256}", one.sha256)
        if len(data) != one.bytes or one.offset < 0:
            raise AlteredError(f"{self.url}{TAILS}/{one.sha256} is not the slice that {MANIFEST_FILE} names")
        return data

    def _write(self, one: TailSlice, data: bytes) -> None:
        """Put a slice into its log, unless another process has done so, or has dropped the log: segments hold it."""
        path = self._log(one)
        if not has_slice(path, one) and one.offset <= _size(path):
            write_at(path, one.offset, data)

    def _drop_logs(self, listed: set[tuple[Any, ...]], manifest: Manifest) -> None:
        """Drop the logs that are listed no more and that segments here hold: another process may know later ones."""
        passed = [
            (place.folder, place.folder / LOG / f"{number}.log")
            for entry in manifest.entries
            for place in [self._place(entry)]
            for number in numbered(place.folder / LOG, ".log")
            if (*entry.key, number) not in listed
        ]
        if not passed:
            return
        with held(self.folder, LOG):
            for folder, path in passed:
                if last_frame(path) <= covered(folder):
                    path.unlink(missing_ok=True)

    def _log(self, one: TailSlice) -> Path:
        return self._inside(log_path(self.folder, one.key, one.log))

    def _place(self, entry: Entry) -> WriterPath:
        return self._writer(entry.key)

    def _writer(self, key: tuple[str, int, str]) -> WriterPath:
        place = WriterPath(self.folder, *key)
        self._inside(place.folder)
        return place

    def _put(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _close(addresses: Iterable[Address | CopiedSite]) -> None:
    for address in addresses:
        address.close()


def _find(base: Address | CopiedSite) -> tuple[Address | CopiedSite, Answer | None]:
    """The address of the record, which is `base` or its folder `record`, and its manifest as it is now."""
    for address in (base, base.within("record")):
        try:
            answer = address.get(MANIFEST_FILE)
        except AbsentError:
            continue
        finally:
            address.close()
        if "record_sha256" in _fields(answer):
            return address, answer
    raise RecordError(
        f"{base.url} is no record: neither it nor its folder `record` holds a {MANIFEST_FILE} of a record"
    )


def _fields(answer: Answer | None) -> Mapping[str, Any]:
    fields = unseal(answer.body) if answer else ""
    return {} if isinstance(fields, str) else fields
