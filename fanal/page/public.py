"""What of a record is public, as named files: an allow-list that follows the record's own manifest, and nothing else.

Segments, owner files, tree, pages, the blobs that public facts refer to, and slices of open logs; of withheld writers
the owner file alone. No name is made from what a run says. Everything is looked through for secrets as it becomes
public for the first time. Reads only; costs what is new since the last refresh.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.page.slices import Slices, read_bytes
from fanal.record import layout
from fanal.record.blobs import NONCE_BYTES
from fanal.record.files import read_document, sha256_of
from fanal.record.layout import BLOBS, LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, SEGMENTS, TAILS, WriterPath
from fanal.record.owner import withheld_reason
from fanal.record.proof.entries import Entry, TailSlice, page_names
from fanal.record.proof.journal_facts import redactions
from fanal.record.proof.leaves import FILE_LEAVES, TREE
from fanal.record.proof.manifest import Manifest, Published, Signer, manifest_of, published, read_manifest
from fanal.record.secrets import Finding, scan, scan_value

BLOB_PIECE_BYTES = 8 << 20
LONGEST_SECRET_BYTES = 4096
_REFERENCE = re.compile(r'"\$blob":\s*"([0-9a-f]{64})"')


@dataclass(frozen=True)
class Piece:
    """Where the bytes of a public file are."""

    path: Path
    num_bytes: int
    offset: int = 0
    body: bytes | None = None
    """The bytes themselves, where no file of the record holds them."""
    sha256: str | None = None
    """SHA-256 of the whole file, where something in the record names it."""

    def read(self) -> bytes:
        """The bytes.

        Raises:
            FileNotFoundError: the record has dropped or lost the file since.
        """
        return self.body if self.body is not None else read_bytes(self.path, self.offset, self.num_bytes)

    def checked(self) -> bytes:
        """The bytes, as the record names them.

        Raises:
            RecordError: the file has changed since; names it.
            FileNotFoundError: the record has dropped or lost the file since.
        """
        data = self.read()
        if self.sha256 is not None and self.path.stat().st_size == self.num_bytes:
            _hold_same(self.path, self.sha256, hashlib.sha256(data).hexdigest())
        elif self.sha256 is not None:
            _hold_same(self.path, self.sha256, None)
        return data

    def check(self) -> None:
        """Hold that the file is what the record names, reading it piece by piece.

        Raises:
            RecordError: it has changed since; names it.
        """
        if self.sha256 is not None:
            is_whole = self.path.stat().st_size == self.num_bytes
            _hold_same(self.path, self.sha256, sha256_of(self.path) if is_whole else None)


class PublicRecord:
    """The public part of the record in `folder`, as of the last refresh."""

    def __init__(self, folder: Path, known: Sequence[TailSlice] = (), look: bool = True) -> None:
        self.folder = folder
        self.files: dict[str, Piece] = {}
        """By name inside the record; all immutable, the manifest not among them."""
        self.manifest: Manifest | None = None
        self.findings: list[Finding] = []
        """Secrets that were found."""
        self.redacted: set[str] = set()
        """Blobs whose bytes were taken back."""
        self.missing: set[str] = set()
        """Blobs that public facts refer to and the record does not hold."""
        self._look_for_secrets = look
        self._known = list(known)
        self._slices: dict[tuple[str, int, str], Slices] = {}
        self._names: set[str] = set()
        self._withheld: set[tuple[str, int, str]] = set()
        self._segments: dict[str, int] = {}
        self._covered: dict[str, int] = {}
        self._referred: set[str] = set()

    def refresh(self) -> None:
        """Read what is new. Logs first: one is dropped only after a segment holds it."""
        for place in layout.all_writers(self.folder):
            key = (place.run, place.attempt, place.writer)
            if key not in self._slices and key not in self._withheld:
                if withheld_reason(place) is not None:
                    self._withheld.add(key)
                else:
                    self._slices[key] = self._slices_of(place)
            if key in self._slices:
                self._slices[key].refresh()
        self.manifest = read_manifest(self.folder)
        if self.manifest is None:
            return
        self._add(RECORD_FILE)
        for name in page_names(self.folder, self.manifest.pages):
            self._add(f"{BLOBS}/{name}", name)
        for index in range(self.manifest.tree.size // FILE_LEAVES if self.manifest.tree else 0):
            self._add(f"{TREE}/{index}")
        for entry in self.manifest.entries:
            self._add(f"{entry.name}/{OWNER_FILE}", entry.owner_sha256)
            if entry.withheld is None:
                self._add_segments(entry)
        self.redacted = set(redactions(self.folder))
        self._add_blobs()

    @property
    def is_behind(self) -> bool:
        """A segment is there that the manifest does not name yet: whoever closes it was killed, or is just about to."""
        entries = self.manifest.entries if self.manifest else ()
        return any((self.folder / e.name / SEGMENTS / f"{e.segments + 1}.json").exists() for e in entries)

    def tails(self) -> tuple[TailSlice, ...]:
        """The slices of the writers that the manifest names."""
        named = {entry.key for entry in self.manifest.entries} if self.manifest else set[Any]()
        return tuple(one for key in sorted(self._slices) if key in named for one in self._slices[key].slices)

    def render(self, signer: Signer | None = None) -> Published | None:
        """The published manifest of what the last refresh saw; None where nothing is committed yet.

        Its slices and blobs are files from then on.
        """
        if self.manifest is None or self.manifest.tree is None:
            return None
        if self.is_copy:
            return self._as_it_is()
        tails = self.tails()
        made = published(self.folder, self.manifest, tails, signer)
        self.files = {
            name: piece for name, piece in self.files.items() if not name.startswith(f"{TAILS}/") and piece.body is None
        }
        for one in tails:
            path = self._slices[one.key].path(one)
            self.files[f"{TAILS}/{one.sha256}"] = Piece(path, one.bytes, one.offset)
        for name, body in made.blobs.items():
            self.files[f"{BLOBS}/{name}"] = Piece(self.folder, len(body), body=body)
        return made

    @property
    def has_tree(self) -> bool:
        """Something is committed, and by a version that keeps a tree."""
        return self.manifest is not None and self.manifest.tree is not None

    @property
    def is_copy(self) -> bool:
        """The record is itself a copy of a published one: it goes on as it is, with its own signature."""
        return self.manifest is not None and self.manifest.tails is not None

    def _as_it_is(self) -> Published:
        data = (self.folder / MANIFEST_FILE).read_bytes()
        known = manifest_of(self.folder, data)
        self.files = {name: piece for name, piece in self.files.items() if not name.startswith(f"{TAILS}/")}
        for name in (*known.tail_pages, *([known.tree.partial] if known.tree and known.tree.partial else [])):
            self._add(f"{BLOBS}/{name}")
        for one in known.tails or ():
            log = WriterPath(self.folder, *one.key).folder / LOG / f"{one.log}.log"
            self.files[f"{TAILS}/{one.sha256}"] = Piece(log, one.bytes, one.offset)
        return Published(data, {})

    def _slices_of(self, place: WriterPath) -> Slices:
        known = [t for t in self._known if t.key == (place.run, place.attempt, place.writer)]
        return Slices(place, self._taker(f"{place.name}/log"), known)

    def _taker(self, where: str) -> Callable[[str | None, Any], None]:
        def take(kind: str | None, said: Any) -> None:
            self._fact(f"{where}: {kind or 'values'}", said)

        return take

    def _add(self, name: str, sha256: str | None = None, num_bytes: int | None = None) -> None:
        if name not in self.files:
            path = self.folder / name
            try:
                found = path.stat().st_size
                self.files[name] = Piece(path, found if num_bytes is None else num_bytes, sha256=sha256)
            except FileNotFoundError as error:
                raise RecordError(f"{path} is missing: run `fanal verify`, then restore it from a copy") from error

    def _add_segments(self, entry: Entry) -> None:
        for number in range(self._segments.get(entry.name, 0) + 1, entry.segments + 1):
            inside = f"{entry.name}/{SEGMENTS}"
            fields = read_document(self.folder / inside / f"{number}.json")
            for file in fields["files"]:
                self._add(f"{inside}/{file['name']}", file["sha256"], file["bytes"])
                if file["role"] == "facts" or (file["role"] == "names" and file["sha256"] not in self._names):
                    self._names.add(file["sha256"])
                    self._read_facts(f"{inside}/{file['name']}", file["role"])
            self._add(f"{inside}/{number}.json")
            self._segments[entry.name] = number
            self._covered[entry.name] = fields["last_sequence"]
        if entry.key in self._slices:
            self._slices[entry.key].forget(self._covered.get(entry.name, 0))

    def _read_facts(self, name: str, role: str) -> None:
        data = self.files[name].checked()
        if role == "names":
            groups = json.loads(gzip.decompress(data))["groups"]
            self._fact(name, [key for group in groups for key in group["keys"]])
        for line in data.splitlines() if role == "facts" else ():
            fact = json.loads(line)
            self._fact(f"{name}: {fact['kind'] or 'values'}", fact["fields"])

    def _fact(self, where: str, said: Any) -> None:
        self._referred.update(_REFERENCE.findall(json.dumps(said)))
        if self._look_for_secrets:
            self.findings += scan_value(said, where)

    def _add_blobs(self) -> None:
        """The blobs that were referred to, and those that they refer to."""
        waiting = [name for name in self._referred if f"{BLOBS}/{name}" not in self.files]
        while waiting:
            name = waiting.pop()
            path = self.folder / BLOBS / name
            if name in self.redacted or f"{BLOBS}/{name}" in self.files:
                continue
            if not path.is_file() or path.is_symlink():
                self.missing.add(name)
                continue
            self.missing.discard(name)
            self.files[f"{BLOBS}/{name}"] = Piece(path, path.stat().st_size, sha256=name)
            for text, value in _blob_texts(path):
                waiting += set(_REFERENCE.findall(text)) - self._referred
                self._referred.update(waiting)
                if self._look_for_secrets:
                    where = f"{BLOBS}/{name}"
                    self.findings += scan(text, where) if value is None else scan_value(value, where)
        for name in self.redacted:
            self.files.pop(f"{BLOBS}/{name}", None)


def _hold_same(path: Path, wanted: str, found: str | None) -> None:
    if found != wanted:
        raise RecordError(f"{path} has changed since it was closed: run `fanal verify`, then restore it from a copy")


def _blob_texts(path: Path) -> Iterator[tuple[str, Any]]:
    """A blob's content as text, piece by piece, and as a value where it is JSON."""
    with path.open("rb") as file:
        file.seek(NONCE_BYTES)
        before = b""
        while piece := file.read(BLOB_PIECE_BYTES):
            whole = not before and len(piece) < BLOB_PIECE_BYTES
            text = _text(before + piece)
            yield text, _value(text) if whole else None
            before = piece[-LONGEST_SECRET_BYTES:]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _value(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def unallowed(findings: Iterable[Finding], allowed: Iterable[str]) -> list[Finding]:
    """The findings whose fingerprint nobody allowed, each place once."""
    known = set(allowed)
    return list(dict.fromkeys(one for one in findings if one.fingerprint not in known))
