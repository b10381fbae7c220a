"""`fanal verify --deep`: whether what was derived still follows from the values: counts, row numbers, steps and tiles.

Reads every column file through pyarrow, not through our own page reader, and computes every tile anew from the values
of its rows. Holds the values of one segment in memory. A mean is compared to its 16 bits.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fanal.record.files import read_document
from fanal.record.layout import SEGMENTS, WriterPath, numbered
from fanal.record.proof.verify_writer import Finding
from fanal.record.segments.tail import LogTail

BASE_ROWS, FACTOR = 16, 4
MEAN_PRECISION = 2.0**-15
SUM_PRECISION = 1e-9
"""Of the largest value of a bucket: sums may be taken in any order."""

Columns = dict[str, NDArray[Any]]


@dataclass
class DeepCheck:
    """What was recomputed, and what does not follow."""

    bad: list[Finding] = field(default_factory=list[Finding])
    num_rows: int = 0
    num_values: int = 0
    num_tiles: int = 0
    num_log_rows: int = 0

    @property
    def words(self) -> str:
        """What was recomputed, for people."""
        return (
            f"deep: {self.num_rows:,} rows and {self.num_values:,} values in segments counted, "
            f"{self.num_tiles:,} tiles recomputed, {self.num_log_rows:,} rows in logs read"
        )


class _UnfitError(Exception):
    """A file of a segment that does not follow from the others."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} {what}")
        self.name = name
        self.what = what


def check_values(places: Iterable[WriterPath]) -> DeepCheck:
    """Recompute what the segments of these writers derive, and read the rows of their logs."""
    check = DeepCheck()
    for place in places:
        for number in numbered(place.folder / SEGMENTS, ".json"):
            try:
                _check_segment(_Segment(place.folder / SEGMENTS, number), check)
            except _UnfitError as error:
                check.bad.append(Finding(f"{place.name}/{SEGMENTS}/{error.name}", error.what))
        tail = LogTail(place.folder)
        tail.refresh()
        check.num_log_rows += sum(len(group.sequences) for group in tail.groups.values())
    return check


class _Segment:
    """A segment's documents and column files."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.name = f"{number}.json"
        self.fields = read_document(folder / self.name)
        (names,) = self.files("names")
        self.groups: list[dict[str, Any]] = self.fields["groups"]
        self.names: list[dict[str, Any]] = json.loads(gzip.decompress((folder / names["name"]).read_bytes()))["groups"]

    def files(self, role: str) -> list[dict[str, Any]]:
        """What the manifest says of the files of a role."""
        return [file for file in self.fields["files"] if file["role"] == role]

    def lines(self, role: str) -> list[dict[str, Any]]:
        """The JSON lines of a role."""
        data = b"".join((self.folder / file["name"]).read_bytes() for file in self.files(role))
        return [json.loads(line) for line in data.splitlines()]

    def stretches(self, role: str) -> Iterator[tuple[str, int, int, Columns]]:
        """File, group, key and columns of every key's stretch."""
        for file in self.files(role):
            parquet = pq.ParquetFile(self.folder / file["name"])
            for index, about in enumerate(file["row_groups"]):
                columns, names = _columns(parquet, index)
                at = 0
                for group, first, end, num in about["keys"]:
                    for key in range(first, end):
                        part = {name: column[at : at + num] for name, column in columns.items()}
                        wanted = _as_column(self.names[group]["keys"][key])
                        held = part["key"]
                        if len(held) != num or names[held[0]] != wanted or not (held == held[0]).all():
                            raise _UnfitError(file["name"], f"does not hold key {wanted!r}")
                        yield file["name"], group, key, part
                        at += num
                if at != len(columns["key"]):
                    raise _UnfitError(file["name"], "holds more than its manifest says")


def _as_column(name: str) -> str:
    """A key as the column `key` holds it: what UTF-8 cannot say is escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _columns(parquet: pq.ParquetFile, index: int) -> tuple[Columns, list[str | None]]:
    """The columns of a row group, the keys as numbers, and the names of these."""
    table = parquet.read_row_group(index)
    keys = table.column("key").combine_chunks().dictionary_encode()
    columns = {name: table.column(name).to_numpy() for name in table.column_names if name != "key"}
    return {"key": keys.indices.to_numpy(), **columns}, keys.dictionary.to_pylist()


def _check_segment(segment: _Segment, check: DeepCheck) -> None:
    rows = _rows(segment)
    counts = segment.fields["counts"]
    facts = segment.lines("facts")
    values: dict[tuple[int, int], NDArray[np.float64]] = {}
    for name, group, key, part in segment.stretches("values"):
        first, num = segment.groups[group]["first_row"], segment.groups[group]["num_rows"]
        whole = len(part["row"]) == num and np.array_equal(part["row"], np.arange(first, first + num))
        if not whole or not np.array_equal(part["step"], rows["step"][first : first + num]):
            raise _UnfitError(name, "has other rows or steps than the segment")
        values[group, key] = part["value"]
    found = {"rows": len(rows["row"]), "values": sum(map(len, values.values())), "facts": len(facts)}
    if found != counts:
        raise _UnfitError(segment.name, f"counts {counts}, and its files hold {found}")
    known = set(rows["sequence"].tolist())
    if any(line["sequence"] in known for line in facts) or any(
        e["sequence"] not in known for e in segment.lines("exact")
    ):
        raise _UnfitError(segment.name, "has facts or exact values whose numbers are not theirs")
    check.num_rows += found["rows"]
    check.num_values += found["values"]
    for name, group, key, part in segment.stretches("tiles"):
        if what := _wrong_tiles(part, values[group, key]):
            raise _UnfitError(name, f"key {segment.names[group]['keys'][key]!r}: {what}")
        check.num_tiles += len(part["level"])


def _rows(segment: _Segment) -> Columns:
    """The rows, held against what the manifest says of each group."""
    tables = [pq.read_table(segment.folder / file["name"]) for file in segment.files("rows")]
    empty = np.empty(0, np.int64)
    rows = {
        name: np.concatenate([empty, *(table.column(name).to_numpy() for table in tables)])
        for name in ("row", "step", "time_ns", "sequence")
    }
    fields = segment.fields
    if not np.array_equal(rows["row"], np.arange(len(rows["row"]))):
        raise _UnfitError(segment.name, "its rows are not numbered through")
    for index, group in enumerate(segment.groups):
        part = slice(group["first_row"], group["first_row"] + group["num_rows"])
        steps, sequences = rows["step"][part], rows["sequence"][part]
        said = {
            "first_row": group["first_row"],
            "num_rows": len(steps),
            "first_sequence": int(sequences[0]),
            "first_row_step": int(steps[0]),
            "min_step": int(steps.min()),
            "max_step": int(steps.max()),
            "rising": bool((np.diff(steps) > 0).all()),
        }
        inside = fields["first_sequence"] <= sequences[0] and sequences[-1] <= fields["last_sequence"]
        if said != {name: group[name] for name in said} or not inside or not (np.diff(sequences) > 0).all():
            raise _UnfitError(segment.name, f"says of group {index} what its rows do not: {said}")
    return rows


def _wrong_tiles(part: Columns, values: NDArray[np.float64]) -> str | None:
    """What of a key's tiles does not follow from its values."""
    at = 0
    for level in sorted(set(part["level"].tolist())):
        width = BASE_ROWS * FACTOR**level
        starts = np.arange(0, len(values), width)
        rows = slice(at, at + len(starts))
        held = {name: column[rows] for name, column in part.items()}
        if not (held["level"] == level).all() or not np.array_equal(held["bucket"], np.arange(len(starts))):
            return f"level {level} has not the {len(starts)} buckets that it should"
        if what := _wrong_level(held, values, starts):
            return f"level {level}: {what}"
        at += len(starts)
    is_last = BASE_ROWS * FACTOR ** int(part["level"].max()) >= len(values)
    return None if at == len(part["level"]) and is_last else "its last level is not one bucket"


def _wrong_level(held: Columns, values: NDArray[np.float64], starts: NDArray[np.int64]) -> str | None:
    finite = np.isfinite(values)
    counts = np.diff(np.append(starts, len(values)))
    num_finite = np.add.reduceat(finite.astype(np.int64), starts)
    some = num_finite > 0
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduceat(np.where(finite, values, 0.0), starts)
        means = np.where(some, sums / np.maximum(num_finite, 1), np.nan)
        largest = np.maximum.reduceat(np.where(finite, np.abs(values), 0.0), starts)
        near = np.abs(held["mean"] - means) <= MEAN_PRECISION * np.abs(means) + SUM_PRECISION * largest
    expected = {
        "count": counts,
        "nonfinite": counts - num_finite,
        "min": np.where(some, np.minimum.reduceat(np.where(finite, values, np.inf), starts), np.nan),
        "max": np.where(some, np.maximum.reduceat(np.where(finite, values, -np.inf), starts), np.nan),
    }
    for name, column in expected.items():
        if not np.array_equal(held[name], column, equal_nan=column.dtype.kind == "f"):
            return f"{name} is not that of the values"
    overflow = some & ~np.isfinite(means)
    return None if (near | overflow | (~some & np.isnan(held["mean"]))).all() else "mean is not that of the values"
