"""The manifest's lists, one entry a writer and one a slice of a published log, and the pages that keep it short.

A page is an immutable blob. Of two entries for one writer the later page's counts, and before it the manifest's own.
Pages are merged so that their number grows with the logarithm of the writers, and beyond `MAX_PAGES` stand on a page
of their own: so no number of writers makes the manifest long.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.record.files import DamagedError, canonical, sha256
from fanal.record.layout import BLOBS, MANIFEST_FILE, RUN_ID, RUNS

PAGE_ENTRIES = 2048
MAX_PAGES = 40
INDEX_PAGES = 32
"""Pages that one page of pages names."""
TAIL_PAGE = 256
"""Slices on the first pages; pages are longer where there would be more than `MAX_PAGES`."""

_SHA256 = re.compile(r"[0-9a-f]{64}")

Key = tuple[str, int, str]
Blobs = dict[str, bytes]
"""By SHA-256."""


@dataclass(frozen=True)
class Entry:
    """One writer, as the manifest names it."""

    run: str
    attempt: int
    writer: str
    owner_sha256: str
    segments: int
    """Number of the last segment that the tree holds; 0 where there is none."""
    last_sha256: str | None
    """SHA-256 of that segment's manifest."""
    open: bool
    """Whether a log was there: the writer may go on."""
    withheld: str | None = None
    """Why nothing of this writer but its owner file is published; None where it is."""

    def __post_init__(self) -> None:
        """Hold that it names a writer: a manifest may come from anywhere, and folders are made from these."""
        _hold_writer(self.key)

    @property
    def key(self) -> Key:
        """What names the writer."""
        return (self.run, self.attempt, self.writer)

    @property
    def name(self) -> str:
        """The writer's folder inside the record."""
        return f"{RUNS}/{self.run}/{self.attempt}/{self.writer}"

    def to_json(self) -> dict[str, Any]:
        """The entry as it stands in a document."""
        fields = asdict(self)
        if self.withheld is None:
            del fields["withheld"]
        return fields


@dataclass(frozen=True)
class TailSlice:
    """Whole frames of a log, as published before a segment holds them: `tails/<sha256>`."""

    run: str
    attempt: int
    writer: str
    log: int
    """Number of the log file."""
    offset: int
    """Where in that file it begins; the first begins at 0, with the file's header."""
    bytes: int
    sha256: str
    first_sequence: int
    last_sequence: int

    def __post_init__(self) -> None:
        """Hold that it names a writer's log and a file."""
        _hold_writer(self.key)
        if not _SHA256.fullmatch(self.sha256) or not self.log > 0:
            raise ValueError(f"{self.sha256[:100]!r} is no SHA-256, or {self.log} no log's number")

    @property
    def key(self) -> Key:
        """What names the writer."""
        return (self.run, self.attempt, self.writer)


@dataclass(frozen=True)
class Page:
    """A page as read; the manifest's own entries are on none."""

    name: str
    entries: tuple[Entry, ...]
    merged: bool
    """It stands on a page of pages, and is not touched any more."""


def read_pages(record: Path, names: Iterable[str]) -> Iterator[Page]:
    """The pages, those on pages of pages too.

    Raises:
        DamagedError: one has changed or is missing; names the file.
    """
    for name in names:
        fields = read_page(record, name)
        if "pages" in fields:
            yield from (Page(page.name, page.entries, True) for page in read_pages(record, fields["pages"]))
        else:
            yield Page(name, tuple(Entry(**e) for e in fields["writers"]), False)


def page_names(record: Path, names: Iterable[str]) -> Iterator[str]:
    """The names of all pages, those of pages too."""
    for name in names:
        yield name
        yield from page_names(record, read_page(record, name).get("pages", ()))


def read_page(record: Path, name: str) -> dict[str, Any]:
    """The fields of a page.

    Raises:
        DamagedError: it has changed or is missing; names the file.
    """
    if not _SHA256.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is no SHA-256")
    path = record / BLOBS / name
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedError(path, f"is missing: {MANIFEST_FILE} names it") from error
    if sha256(data) != name:
        raise DamagedError(path, "has changed since it was written")
    return json.loads(data)


def add_page(names: Sequence[str], pages: Sequence[Page], moved: Sequence[Entry]) -> tuple[list[str], Blobs]:
    """The list of pages with `moved` on the end, and the new pages; the last ones that are no longer are merged in."""
    blobs: Blobs = {}
    kept, left = list(names), [page for page in pages if not page.merged]
    entries = {entry.key: entry for entry in moved}
    while left and len(left[-1].entries) <= min(len(entries), PAGE_ENTRIES // 2):
        page = left.pop()
        kept.remove(page.name)
        entries = {entry.key: entry for entry in page.entries} | entries
    listed = [entry.to_json() for entry in entries.values()]
    starts = range(0, len(listed), PAGE_ENTRIES)
    kept += [_put(blobs, {"writers": listed[first : first + PAGE_ENTRIES]}) for first in starts]
    while len(kept) > MAX_PAGES:
        kept = [_put(blobs, {"pages": kept[:INDEX_PAGES]}), *kept[INDEX_PAGES:]]
    return kept, blobs


def tail_pages(tails: Sequence[TailSlice]) -> tuple[list[str], Blobs]:
    """Slices on pages, oldest first, so that the pages before the last stay what they are as the list grows."""
    blobs: Blobs = {}
    per_page = TAIL_PAGE
    while len(tails) > per_page * MAX_PAGES:
        per_page *= 2
    starts = range(0, len(tails), per_page)
    return [_put(blobs, {"tails": [asdict(t) for t in tails[s : s + per_page]]}) for s in starts], blobs


def read_tails(record: Path, inline: Iterable[dict[str, Any]], pages: Iterable[str]) -> tuple[TailSlice, ...]:
    """The slices that a published manifest names.

    Raises:
        DamagedError: a page has changed or is missing; names the file.
    """
    paged = (fields for name in pages for fields in read_page(record, name)["tails"])
    return tuple(TailSlice(**fields) for fields in (*paged, *inline))


def _hold_writer(key: Key) -> None:
    run, attempt, writer = key
    if not RUN_ID.fullmatch(run) or not attempt > 0 or not RUN_ID.fullmatch(writer):
        raise ValueError(f"{key!r} names no writer's folder")


def _put(blobs: Blobs, fields: dict[str, Any]) -> str:
    data = canonical(fields)
    name = sha256(data)
    blobs[name] = data
    return name
