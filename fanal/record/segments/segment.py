"""A closed segment as it is read: immutable, every file named by its hash in the segment's manifest.

Rows of a group lie together (`first_row`, `num_rows`); a key's values are one stretch of one page. Opening reads the
manifest and the names; everything else is read when asked for, checked (whole files by their hash, pages by gzip's
own checksum) and kept while memory allows.
"""

import gzip
import json
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fanal.errors import RecordError
from fanal.record.files import DamagedError, read_document, sha256
from fanal.record.frames import Fact
from fanal.record.layout import SEGMENTS, WriterPath
from fanal.record.segments.columns import inflate, split_floats, unpacked

Fetch = Callable[[Path, str], None]
"""Makes an absent file of that SHA-256 be there, or raises."""


def nowhere(path: Path, wanted: str) -> None:
    """Where nothing can be fetched from.

    Raises:
        RecordError: always; names the file.
    """
    raise RecordError(f"{path} is missing: restore it from a copy of the record")


ROW_COLUMNS = ("step", "time_ns", "sequence")
KEPT_BYTES = 64 << 20
"""Decompressed pages that all readers of a process keep."""


@dataclass(frozen=True)
class Group:
    """Rows of keys that were logged together."""

    index: int
    keys: dict[str, int]
    """Each key's position."""
    types: str
    """A letter a key: f, i, b; single points that differ are in `exact`."""
    first_row: int
    num_rows: int
    first_sequence: int
    first_row_step: int
    min_step: int
    max_step: int
    rising: bool
    """Each row's step is above the one before."""


@dataclass(frozen=True)
class Rows:
    """The rows of a group."""

    steps: NDArray[np.int64]
    times_ns: NDArray[np.int64]
    sequences: NDArray[np.int64]


class Slot(NamedTuple):
    """Where a key's stretch of a group lies: file, pages of the row group, first value, values."""

    file: int
    pages: dict[str, list[int]]
    first: int
    num: int


class Segment:
    """One closed segment of a writer."""

    def __init__(self, place: WriterPath, fields: dict[str, Any], fetch: Fetch = nowhere) -> None:
        self._fetch = fetch
        self.number: int = fields["number"]
        self.first_sequence: int = fields["first_sequence"]
        self.last_sequence: int = fields["last_sequence"]
        self.final: bool = fields["final"]
        self._folder = place.folder / SEGMENTS
        self._files: list[dict[str, Any]] = fields["files"]
        names = _names_of(self._there(self._named("names")), self._named("names")["sha256"])
        self.groups = [Group(i, *names[i], **about) for i, about in enumerate(fields["groups"])]
        self._slots: dict[str, _Slots] = {}
        self._rows: list[NDArray[Any]] | None = None
        self._facts: list[tuple[int, Fact]] | None = None
        self._exact: dict[str, dict[int, Any]] | None = None

    @classmethod
    def open(cls, place: WriterPath, number: int, fetch: Fetch = nowhere) -> "Segment":
        """Segment `number` of a writer.

        Raises:
            RecordError: its manifest is damaged; says what to do.
        """
        try:
            return cls(place, read_document(place.folder / SEGMENTS / f"{number}.json"), fetch)
        except DamagedError as error:
            raise RecordError(f"{error}: run `fanal verify`, then restore the file from a copy") from error

    def groups_of(self, key: str) -> Iterator[Group]:
        """The groups that hold a key."""
        return (group for group in self.groups if key in group.keys)

    def rows(self, group: Group) -> Rows:
        """Steps, times and sequences of a group's rows."""
        if self._rows is None:
            parts = [
                _row_columns(self._read(file), file["row_groups"]) for file in self._files if file["role"] == "rows"
            ]
            self._rows = [np.concatenate(column) for column in zip(*parts, strict=True)]
        stretch = slice(group.first_row, group.first_row + group.num_rows)
        return Rows(*(column[stretch] for column in self._rows))

    def values(self, group: Group, key: str) -> NDArray[np.float64]:
        """A key's values, one a row of the group."""
        slot = self.slot("values", group, key)
        assert slot is not None, "every key of a group has values"
        return self.floats(slot, "value")

    def slot(self, role: str, group: Group, key: str) -> Slot | None:
        """Where the values or tiles of a key lie; None where it has none."""
        if role not in self._slots:
            self._slots[role] = _Slots(self._files, role)
        return self._slots[role].of(group.index, group.keys[key])

    def floats(self, slot: Slot, column: str) -> NDArray[np.float64]:
        """A slot's part of a column of float64."""
        return split_floats(self._page(slot, column), slot.first, slot.num)

    def counts(self, slot: Slot, column: str) -> NDArray[np.int64]:
        """A slot's part of a column of int32."""
        return self._page(slot, column).view("<i4")[slot.first : slot.first + slot.num].astype(np.int64)

    def _page(self, slot: Slot, column: str) -> NDArray[np.uint8]:
        """A decompressed page; kept for the next reader."""
        file = self._files[slot.file]
        start, length = slot.pages[column]
        found = _PAGES.get((file["sha256"], start))
        if found is None:
            found = _inflated(self._there(file), start, length)
            _PAGES.put((file["sha256"], start), found)
        return found

    def facts(self) -> list[tuple[int, Fact]]:
        """Events and odd values with their sequence numbers."""
        if self._facts is None:
            self._facts = [(line["sequence"], _fact(line)) for line in self._lines("facts")]
        return self._facts

    def exact(self, key: str) -> Iterator[tuple[int, str, Any]]:
        """Sequence, type letter and encoded value (None where the float64 holds it) of each point of a key."""
        odd = self._exact_of(key)
        for group in self.groups_of(key):
            letter = group.types[group.keys[key]]
            for sequence in self.rows(group).sequences.tolist():
                line = odd.get(sequence, {})
                yield sequence, line.get("type", letter), line.get("value")

    def typed(self, key: str, sequence: int) -> tuple[str, Any]:
        """Type letter and encoded value (None where the float64 holds it) of one point of a key."""
        odd = self._exact_of(key).get(sequence, {})
        for group in self.groups_of(key):
            sequences = self.rows(group).sequences  # they rise
            place = int(np.searchsorted(sequences, sequence))
            if place < len(sequences) and sequences[place] == sequence:
                return odd.get("type", group.types[group.keys[key]]), odd.get("value")
        raise KeyError(sequence)

    def _exact_of(self, key: str) -> dict[int, Any]:
        """Lines of `exact` of a key, by sequence."""
        if self._exact is None:
            self._exact = {}
            for line in self._lines("exact"):
                self._exact.setdefault(line["key"], {})[line["sequence"]] = line
        return self._exact.get(key, {})

    def _lines(self, role: str) -> Iterator[dict[str, Any]]:
        for file in self._files:
            if file["role"] == role:
                yield from map(json.loads, self._read(file).splitlines())

    def _named(self, role: str) -> dict[str, Any]:
        return next(file for file in self._files if file["role"] == role)

    def _read(self, file: dict[str, Any]) -> bytes:
        return _read_checked(self._there(file), file["sha256"])

    def _there(self, file: dict[str, Any]) -> Path:
        """A file's place, fetched first where it is absent and can be."""
        path = self._folder / file["name"]
        if not path.is_file():
            self._fetch(path, file["sha256"])
        return path


class _Pages:
    """The pages that were used last, up to a number of bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, int], NDArray[np.uint8]] = OrderedDict()

    def get(self, name: tuple[str, int]) -> NDArray[np.uint8] | None:
        found = self._kept.get(name)
        if found is not None:
            self._kept.move_to_end(name)
        return found

    def put(self, name: tuple[str, int], page: NDArray[np.uint8]) -> None:
        self._kept[name] = page
        self._bytes += page.nbytes
        while self._bytes > self._limit_bytes and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes


_PAGES = _Pages(KEPT_BYTES)
_NAMES: dict[str, list[tuple[dict[str, int], str]]] = {}
"""Names by the hash of their file: segments of a run mostly have the same."""


def _names_of(path: Path, wanted: str) -> list[tuple[dict[str, int], str]]:
    found = _NAMES.get(wanted)
    if found is None:
        said = json.loads(gzip.decompress(_read_checked(path, wanted)))
        found = [({key: i for i, key in enumerate(group["keys"])}, group["types"]) for group in said["groups"]]
        _NAMES[wanted] = found
    return found


def _row_columns(data: bytes, row_groups: list[dict[str, Any]]) -> list[NDArray[np.int64]]:
    """Steps, times and sequences of a file of rows; one without pages in the manifest is older, and read as Parquet."""
    pages = [group["pages"] for group in row_groups]
    if not all(pages):
        table = pq.ParquetFile(pa.BufferReader(data)).read(columns=list(ROW_COLUMNS), use_threads=False)
        return [table.column(name).to_numpy() for name in ROW_COLUMNS]
    parts = (
        [unpacked(inflate(data[at : at + num])) for at, num in (page[name] for page in pages)] for name in ROW_COLUMNS
    )
    return [np.concatenate(part) for part in parts]


def _inflated(path: Path, start: int, length: int) -> NDArray[np.uint8]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return np.frombuffer(inflate(file.read(length)), np.uint8)
    except FileNotFoundError as error:
        raise RecordError(f"{path} is missing: restore it from a copy of the record") from error
    except zlib.error as error:
        raise RecordError(f"{path} has changed since it was closed: restore it from a copy of the record") from error


def _read_checked(path: Path, wanted: str) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise RecordError(f"{path} is missing: restore it from a copy of the record") from error
    if sha256(data) != wanted:
        raise RecordError(f"{path} has changed since it was closed: restore it from a copy of the record")
    return data


class _Slots:
    """Where keys lie in the files of one role: `keys` of a row group are runs of [group, first key, end key, num]."""

    def __init__(self, files: list[dict[str, Any]], role: str) -> None:
        self._starts: list[tuple[int, int]] = []
        """Group and first key of each run, in order, as they are written."""
        self._runs: list[tuple[int, Slot]] = []
        """End key, and where the first key lies."""
        for number, file in enumerate(files):
            if file["role"] == role:
                for row_group in file["row_groups"]:
                    first = 0
                    for group, first_key, end_key, num in row_group["keys"]:
                        self._starts.append((group, first_key))
                        self._runs.append((end_key, Slot(number, row_group["pages"], first, num)))
                        first += num * (end_key - first_key)

    def of(self, group: int, key: int) -> Slot | None:
        """Where a key lies, by the numbers of group and key; None where it is in no file."""
        place = bisect_right(self._starts, (group, key)) - 1
        if place < 0:
            return None
        found, first_key = self._starts[place]
        end_key, slot = self._runs[place]
        if found != group or key >= end_key:
            return None
        return slot._replace(first=slot.first + slot.num * (key - first_key))


def _fact(line: dict[str, Any]) -> Fact:
    return Fact(line["kind"], line["step"], line["time_ns"], line["fields"])
