"""A closed segment as it is read: immutable, every file named by its hash in the segment's manifest.

Rows of a group lie together (`first_row`, `num_rows`); a key's values are one stretch of one page. Opening reads the
manifest and the names; everything else is read when asked for, checked (whole files by their hash, pages by gzip's
own checksum) and kept while memory allows.
"""

import gzip
import json
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.errors import RecordError
from fanal.record.files import DamagedError, read_document, sha256
from fanal.record.frames import Fact
from fanal.record.layout import SEGMENTS, WriterPath
from fanal.record.parquet import inflate, read_columns, split_floats

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


@dataclass(frozen=True)
class Slot:
    """Where a key's stretch of a group lies: file, pages of the row group, first value, values."""

    file: int
    pages: dict[str, list[int]]
    first: int
    num: int


class Segment:
    """One closed segment of a writer."""

    def __init__(self, place: WriterPath, fields: dict[str, Any]) -> None:
        self.number: int = fields["number"]
        self.first_sequence: int = fields["first_sequence"]
        self.last_sequence: int = fields["last_sequence"]
        self.final: bool = fields["final"]
        self._folder = place.folder / SEGMENTS
        self._files: list[dict[str, Any]] = fields["files"]
        names = _names_of(self._folder, self._named("names"))
        self.groups = [Group(i, *names[i], **about) for i, about in enumerate(fields["groups"])]
        self._slots: dict[str, dict[tuple[int, int], Slot]] = {}
        self._rows: list[NDArray[Any]] | None = None
        self._facts: list[tuple[int, Fact]] | None = None
        self._exact: dict[str, dict[int, Any]] | None = None

    @classmethod
    def open(cls, place: WriterPath, number: int) -> "Segment":
        """Segment `number` of a writer.

        Raises:
            RecordError: its manifest is damaged; says what to do.
        """
        try:
            return cls(place, read_document(place.folder / SEGMENTS / f"{number}.json"))
        except DamagedError as error:
            raise RecordError(f"{error}: run `fanal verify`, then restore the file from a copy") from error

    def groups_of(self, key: str) -> Iterator[Group]:
        """The groups that hold a key."""
        return (group for group in self.groups if key in group.keys)

    def rows(self, group: Group) -> Rows:
        """Steps, times and sequences of a group's rows."""
        if self._rows is None:
            parts = [
                read_columns(self._read(file), ["step", "time_ns", "sequence"])
                for file in self._files
                if file["role"] == "rows"
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
            self._slots[role] = _slots(self._files, role)
        return self._slots[role].get((group.index, group.keys[key]))

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
            found = _inflated(self._folder / file["name"], start, length)
            _PAGES.put((file["sha256"], start), found)
        return found

    def facts(self) -> list[tuple[int, Fact]]:
        """Events and odd values with their sequence numbers."""
        if self._facts is None:
            self._facts = [(line["sequence"], _fact(line)) for line in self._lines("facts")]
        return self._facts

    def exact(self, key: str) -> Iterator[tuple[int, str, Any]]:
        """Sequence, type letter and encoded value (None where the float64 holds it) of each point of a key."""
        if self._exact is None:
            self._exact = {}
            for line in self._lines("exact"):
                self._exact.setdefault(line["key"], {})[line["sequence"]] = line
        odd = self._exact.get(key, {})
        for group in self.groups_of(key):
            letter = group.types[group.keys[key]]
            for sequence in self.rows(group).sequences.tolist():
                line = odd.get(sequence, {})
                yield sequence, line.get("type", letter), line.get("value")

    def _lines(self, role: str) -> Iterator[dict[str, Any]]:
        for file in self._files:
            if file["role"] == role:
                yield from map(json.loads, self._read(file).splitlines())

    def _named(self, role: str) -> dict[str, Any]:
        return next(file for file in self._files if file["role"] == role)

    def _read(self, file: dict[str, Any]) -> bytes:
        return _read_checked(self._folder / file["name"], file["sha256"])


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


def _names_of(folder: Path, file: dict[str, Any]) -> list[tuple[dict[str, int], str]]:
    found = _NAMES.get(file["sha256"])
    if found is None:
        said = json.loads(gzip.decompress(_read_checked(folder / file["name"], file["sha256"])))
        found = [({key: i for i, key in enumerate(group["keys"])}, group["types"]) for group in said["groups"]]
        _NAMES[file["sha256"]] = found
    return found


def _inflated(path: Path, start: int, length: int) -> NDArray[np.uint8]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return inflate(file.read(length))
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


def _slots(files: list[dict[str, Any]], role: str) -> dict[tuple[int, int], Slot]:
    """By group and key: `keys` of a row group are runs of [group, first key, end key, values a key]."""
    slots: dict[tuple[int, int], Slot] = {}
    for number, file in enumerate(files):
        if file["role"] != role:
            continue
        for row_group in file["row_groups"]:
            first = 0
            for group, first_key, end_key, num in row_group["keys"]:
                for key in range(first_key, end_key):
                    slots[group, key] = Slot(number, row_group["pages"], first, num)
                    first += num
    return slots


def _fact(line: dict[str, Any]) -> Fact:
    return Fact(line["kind"], line["step"], line["time_ns"], line["fields"])
