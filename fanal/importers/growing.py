"""Row files that grow: a place in each by byte, row count and a chain of hashes over the rows read so far.

A file that begins as before is read from its byte on. One that was written anew (another header, a rewritten JSON) is
read from its start: as long as its rows are those already imported they are passed over, and if they are not, the file
is a new attempt of the run. Nothing is imported twice and nothing is lost.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fanal.importers.findings import Findings, Unreadable
from fanal.importers.items import About, Batch, Begin, Cursor, Item
from fanal.importers.lines import HEAD_BYTES, Head

BATCH_ROWS = 5000


@dataclass
class Place:
    """How far a file has been read."""

    head: Head
    offset: int = 0
    number: int = 0
    """Lines before `offset`."""
    rows: int = 0
    chain: str = ""
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the kind of file has to remember besides, e.g. a header."""

    def to_json(self) -> dict[str, Any]:
        """For a cursor."""
        return {**vars(self), "head": self.head.to_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Place":
        """From a cursor."""
        fields: dict[str, Any] = {**value, "head": Head.from_json(value["head"])}
        return cls(**fields)


class RowFile(Protocol):
    """One kind of file with rows."""

    rewritten: bool
    """The file is always written anew, so that its rows are known by content alone."""

    def rows(self, path: Path, place: Place, findings: Findings) -> "Iterator[tuple[bytes, list[Item]]]":
        """The rows after `place`, which is moved over each one: its content, to be known again, and its items.

        A row that cannot be read is appended to the findings and has no items.
        """
        ...


Files = list[tuple[Path, RowFile]]
"""The files of a run."""


class GrowingRun:
    """One run whose rows stand in one or more files, read in order."""

    def __init__(self, files: Files, about: About, origin: Path, live: bool) -> None:
        self.findings = Findings()
        self._origin = hashlib.sha256(str(origin.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._files = files
        self._about = about
        self._live = live
        self._places: dict[str, Place] = {}
        self._seen: dict[str, tuple[Path, int, int]] = {}
        """Time and size of each file when it was last read."""
        self._torn: dict[str, int] = {}

    def about(self) -> About:
        """What the run is called."""
        return self._about

    def owns(self, cursor: Cursor) -> bool:
        """Whether an earlier import read this source, by its place or, where it was moved, by how its files begin."""
        if cursor.get("run") != self._about.id:
            return False
        places = {name: Place.from_json(place) for name, place in cursor["files"].items()}
        known = [(path, places[path.name]) for path, _ in self._files if path.name in places]
        moved = any(place.rows and place.head.fits(path) for path, place in known)
        return bool(known) and (cursor.get("origin") == self._origin or moved)

    def cursor(self) -> Cursor:
        """The place in the source, before anything is read its beginning."""
        files = {path.name: Place(Head.of(path)) for path, _ in self._files if path.is_file()} | self._places
        named = {name: place.to_json() for name, place in files.items()}
        return {"run": self._about.id, "origin": self._origin, "files": named}

    def seek(self, cursor: Cursor) -> None:
        """Go on from an earlier import."""
        self._places = {name: Place.from_json(place) for name, place in cursor["files"].items()}

    def close(self) -> None:
        """Nothing waits."""

    def renew(self, found: "GrowingRun") -> None:
        """Read the files that a later look found."""
        self._files = found._files

    def read(self) -> Iterator[Batch]:
        """What the files hold that is new."""
        for path, kind in self._files:
            if not path.is_file():
                continue
            about = path.stat()
            seen = (path, about.st_mtime_ns, about.st_size)
            if self._seen.get(path.name) != seen:
                self.findings.torn_bytes = 0
                yield from self._read(path, kind)
                self._seen[path.name] = seen
                self._torn[path.name] = self.findings.torn_bytes
        self.findings.torn_bytes = sum(self._torn.values())

    def _read(self, path: Path, kind: RowFile) -> Iterator[Batch]:
        before = self._places.get(path.name)
        place = before
        if place is None or kind.rewritten or not place.head.fits(path):
            place = Place(Head.of(path))
            if before is not None and before.rows and not self._begins_with(path, kind, place, before):
                if self._live and place.rows < before.rows:
                    return  # it is just being written anew
                place = self._places[path.name] = Place(Head.of(path))
                self.findings.notes.append(f"{path.name} was written anew with other rows: a new attempt")
                yield Batch([], self.cursor(), Begin(None))
            self._places[path.name] = place
        items: list[Item] = []
        for content, new in kind.rows(path, place, self.findings):
            place.chain = _chained(place.chain, content)
            place.rows += 1
            items += new
            if len(items) >= BATCH_ROWS:
                yield Batch(items, self.cursor())
                items = []
        if place.head.num_bytes < HEAD_BYTES:
            place.head = Head.of(path, min(HEAD_BYTES, max(place.offset, place.head.num_bytes)))
        if items:
            yield Batch(items, self.cursor())

    def _begins_with(self, path: Path, kind: RowFile, place: Place, before: Place) -> bool:
        """Move `place` over the rows that were imported; whether the file begins with them."""
        for content, _ in kind.rows(path, place, Findings()):
            place.chain = _chained(place.chain, content)
            place.rows += 1
            if place.rows == before.rows:
                return place.chain == before.chain
        return False


def _chained(chain: str, content: bytes) -> str:
    return hashlib.blake2b(chain.encode() + content, digest_size=12).hexdigest()


def unreadable_line(number: int, what: str) -> Unreadable:
    """A line that cannot be read."""
    return Unreadable(f"line {number}", what)
