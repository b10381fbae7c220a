"""`manifest.json`: the one file that changes, and what makes every other file of the record provable.

It names `record.json`, every owner file and every writer's last segment by SHA-256; segments chain backwards from
there. At most 10 KB: entries of ended writers move to immutable pages under `blobs/`. It is replaced whole at each
closing, checkpoint, forecast and attempt's end, from what lies in the folders; several processes may do so at once.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import fanal
from fanal.record import layout
from fanal.record.files import DamagedError, canonical, read_document, seal, sha256, write_whole
from fanal.record.layout import BLOBS, LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, SEGMENTS, WriterPath, numbered

MAX_BYTES = 10_000
PAGE_ENTRIES = 1024
MAX_PAGES = 16


@dataclass(frozen=True)
class Entry:
    """One writer, as the manifest names it."""

    run: str
    attempt: int
    writer: str
    owner_sha256: str
    segments: int
    """Number of the last segment; 0 where there is none."""
    last_sha256: str | None
    """SHA-256 of that segment's manifest."""
    open: bool
    """Whether a log was there: the writer may go on."""

    @property
    def key(self) -> tuple[str, int, str]:
        """What names the writer."""
        return (self.run, self.attempt, self.writer)

    def covers(self, segments: int, is_open: bool) -> bool:
        """Whether the entry says at least what lies in the folder."""
        return self.segments >= segments and self.open == is_open


@dataclass(frozen=True)
class Manifest:
    """The manifest's content, pages included."""

    record_sha256: str
    entries: tuple[Entry, ...]
    pages: tuple[str, ...]
    """SHA-256 of each page, oldest first."""
    paged: frozenset[tuple[str, int, str]]
    """The writers that stand on pages."""


def read_manifest(record: Path) -> Manifest | None:
    """The manifest and its pages, or None where there is none yet.

    Raises:
        DamagedError: it or one of its pages has changed or is missing; names the file.
    """
    path = record / MANIFEST_FILE
    try:
        fields = read_document(path)
    except FileNotFoundError:
        return None
    paged = [entry for name in fields["pages"] for entry in _read_page(record, name)]
    entries = paged + [Entry(**e) for e in fields["writers"]]
    return Manifest(fields["record_sha256"], tuple(entries), tuple(fields["pages"]), frozenset(e.key for e in paged))


def _read_page(record: Path, name: str) -> list[Entry]:
    path = record / BLOBS / name
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedError(path, f"is missing: {MANIFEST_FILE} names it") from error
    if sha256(data) != name:
        raise DamagedError(path, "has changed since it was written")
    return [Entry(**fields) for fields in json.loads(data)["writers"]]


def commit(record: Path) -> None:
    """Write the manifest of what lies in the folders now, and again until nothing changed meanwhile."""
    while True:
        known = _known(record)
        entries = _gather(record, known)
        data, pages = _render(record, known, entries)
        for name, page in pages.items():
            (record / BLOBS).mkdir(exist_ok=True)
            write_whole(record / BLOBS / name, page)
        write_whole(record / MANIFEST_FILE, data)
        written = {entry.key: entry for entry in entries}
        if all(key in written and written[key].covers(*position) for key, position in _positions(record).items()):
            return


def _known(record: Path) -> Manifest | None:
    """The manifest that is there; a damaged one is put aside, where `verify` will name it."""
    try:
        return read_manifest(record)
    except DamagedError:
        path = record / MANIFEST_FILE
        if path.exists():
            path.rename(record / f"{MANIFEST_FILE}.damaged-{os.urandom(4).hex()}")
        return None


def _gather(record: Path, known: Manifest | None) -> list[Entry]:
    """An entry for each writer; hashes that stood in the manifest are kept, never taken anew from the files."""
    before = {entry.key: entry for entry in known.entries} if known else {}
    found: list[Entry] = []
    for writer in layout.all_writers(record):
        segments, is_open = _position(writer)
        old = before.pop((writer.run, writer.attempt, writer.writer), None)
        if old is not None and old.segments >= segments:
            found.append(replace(old, open=is_open))
            continue
        owner = old.owner_sha256 if old else sha256((writer.folder / OWNER_FILE).read_bytes())
        last = sha256((writer.folder / SEGMENTS / f"{segments}.json").read_bytes()) if segments else None
        found.append(Entry(writer.run, writer.attempt, writer.writer, owner, segments, last, is_open))
    return found + list(before.values())


def _positions(record: Path) -> dict[tuple[str, int, str], tuple[int, bool]]:
    return {(w.run, w.attempt, w.writer): _position(w) for w in layout.all_writers(record)}


def _position(writer: WriterPath) -> tuple[int, bool]:
    segments = max(numbered(writer.folder / SEGMENTS, ".json"), default=0)
    return segments, bool(numbered(writer.folder / LOG, ".log"))


def _render(record: Path, known: Manifest | None, entries: list[Entry]) -> tuple[bytes, dict[str, bytes]]:
    """The manifest's bytes and the new pages by name."""
    pages = list(known.pages) if known else []
    paged = known.paged if known else frozenset[tuple[str, int, str]]()
    inline = [entry for entry in entries if entry.key not in paged]
    new: dict[str, bytes] = {}
    data = _manifest(record, entries, pages, inline)
    if len(data) > MAX_BYTES:
        resting = [entry for entry in inline if not entry.open]
        inline = [entry for entry in inline if entry.open]
        if len(pages) >= MAX_PAGES:
            resting, pages = [entry for entry in entries if entry.key in paged] + resting, []
        for first in range(0, len(resting), PAGE_ENTRIES):
            page = canonical({"writers": [asdict(entry) for entry in resting[first : first + PAGE_ENTRIES]]})
            new[sha256(page)] = page
        pages += new
        data = _manifest(record, entries, pages, inline)
    return data, new


def _manifest(record: Path, entries: list[Entry], pages: list[str], inline: list[Entry]) -> bytes:
    counts = {
        "runs": len({entry.run for entry in entries}),
        "attempts": len({(entry.run, entry.attempt) for entry in entries}),
        "writers": len(entries),
        "segments": sum(entry.segments for entry in entries),
    }
    return seal(
        {
            "format": layout.FORMAT,
            "kind": "manifest",
            "fanal": fanal.__version__,
            "record_sha256": sha256((record / RECORD_FILE).read_bytes()),
            "counts": counts,
            "pages": pages,
            "writers": [asdict(entry) for entry in inline],
        }
    )
