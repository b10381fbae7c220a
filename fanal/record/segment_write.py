"""Makes a segment's files from what a log holds up to a sequence: values, rows, names, tiles, facts, exact values.

Pure but for the memory it takes (the values once, and a file at a time); the closing process puts the files on disk and
the manifest after them. Equal input gives equal bytes.
"""

import gzip
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.record import tiles
from fanal.record.files import line, sha256
from fanal.record.parquet import MAX_FILE_BYTES, ROW_GROUP_VALUES, RowGroup, key_column, write_files
from fanal.record.tail import LogTail, TailGroup


@dataclass(frozen=True)
class SegmentFile:
    """One file of a segment: its bytes and what the manifest says of it."""

    data: bytes
    about: Mapping[str, Any]


class SegmentRows:
    """The rows of one group that a segment takes."""

    def __init__(self, group: TailGroup, last_sequence: int, first_row: int) -> None:
        self.num_rows = bisect_right(group.sequences, last_sequence)
        self.first_row = first_row
        self.row_numbers = np.arange(first_row, first_row + self.num_rows, dtype=np.int32)
        self.keys = group.keys
        self.steps = np.array(group.steps[: self.num_rows], np.int64)
        self.times_ns = np.array(group.times_ns[: self.num_rows], np.int64)
        self.sequences = np.array(group.sequences[: self.num_rows], np.int64)
        held = np.frombuffer(group.values, "<f8", self.num_rows * len(group.keys))
        self.values_RK: NDArray[np.float64] = held.reshape(self.num_rows, len(group.keys))
        rows_of = Counter(group.types[: self.num_rows])
        self.types = _majority(rows_of)
        self.odd = self._odd_points(group, rows_of)

    def about(self) -> dict[str, Any]:
        """What the manifest says of the group."""
        return {
            "first_row": self.first_row,
            "num_rows": self.num_rows,
            "first_sequence": int(self.sequences[0]),
            "first_row_step": int(self.steps[0]),
            "min_step": int(self.steps.min()),
            "max_step": int(self.steps.max()),
            "rising": bool((np.diff(self.steps) > 0).all()),
        }

    def _odd_points(self, group: TailGroup, rows_of: Counter[str]) -> list[dict[str, Any]]:
        """Points whose type is not their key's, or whose value a float64 cannot hold."""
        odd: list[dict[str, Any]] = []
        for row in range(self.num_rows):
            sequence, types = group.sequences[row], group.types[row]
            exact = group.exact.get(sequence, {})
            if types == self.types and not exact:
                continue
            for position, key in enumerate(self.keys):
                if key in exact or types[position] != self.types[position]:
                    point = {"sequence": sequence, "key": key, "type": types[position], "value": exact.get(key)}
                    odd.append({"step": group.steps[row], "time_ns": group.times_ns[row], **point})
        return odd


def segment_files(number: int, rows: list[SegmentRows], facts: list[dict[str, Any]]) -> Iterator[SegmentFile]:
    """Every file of segment `number`, in the order in which they go to disk."""
    names = {"groups": [{"keys": group.keys, "types": group.types} for group in rows]}
    yield _file(number, "names", 0, ".json.gz", gzip.compress(line(names), 6, mtime=0), {})
    for role, groups, paged in (
        ("values", _value_groups(rows), ("value",)),
        ("rows", _row_groups(rows), ()),
        ("tiles", _tile_groups(rows), ("nonfinite", "min", "max", "mean")),
    ):
        for index, written in enumerate(write_files(groups, paged)):
            yield _file(number, role, index, ".parquet", written.data, {"row_groups": list(written.groups)})
    for role, lines in (("facts", facts), ("exact", [point for group in rows for point in group.odd])):
        for index, data in enumerate(_line_files(lines)):
            yield _file(number, role, index, ".jsonl", data, {})


def taken_rows(tail: LogTail, last_sequence: int) -> list[SegmentRows]:
    """The groups' rows up to a sequence number, numbered through."""
    rows: list[SegmentRows] = []
    first_row = 0
    for group in tail.groups.values():
        if bisect_right(group.sequences, last_sequence):
            rows.append(SegmentRows(group, last_sequence, first_row))
            first_row += rows[-1].num_rows
    return rows


def taken_facts(tail: LogTail, last_sequence: int) -> list[dict[str, Any]]:
    """The events and odd values up to a sequence number, as lines."""
    return [
        {"sequence": sequence, "time_ns": fact.time_ns, "kind": fact.kind, "step": fact.step, "fields": fact.fields}
        for sequence, fact in tail.facts
        if sequence <= last_sequence
    ]


def _value_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    for columns in _packed((g, k, group.num_rows) for g, group in enumerate(rows) for k in range(len(group.keys))):
        picked = [(rows[g], k) for g, k, _ in columns]
        nums = [group.num_rows for group, _ in picked]
        yield RowGroup(
            {
                "key": key_column([group.keys[k] for group, k in picked], nums),
                "row": np.concatenate(
                    [np.arange(g.first_row, g.first_row + g.num_rows, dtype=np.int32) for g, _ in picked]
                ),
                "step": np.concatenate([group.steps for group, _ in picked]),
                "value": np.concatenate([group.values_RK[:, k] for group, k in picked]),
            },
            {"keys": _runs(columns)},
            sum(nums),
        )


def _row_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    for group in rows:
        yield RowGroup(
            {
                "row": group.row_numbers,
                "step": group.steps,
                "time_ns": group.times_ns,
                "sequence": group.sequences,
            },
            {},
            group.num_rows,
        )


def _tile_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    for number, group in enumerate(rows):
        if group.num_rows < tiles.LEAST_ROWS:
            continue
        levels = tiles.first_levels(group.values_RK).tolist()
        for first_level, keys in groupby(range(len(group.keys)), levels.__getitem__):
            num = tiles.num_buckets(group.num_rows, first_level)
            for packed in _packed((number, key, num) for key in keys):
                yield _tile_group(group, first_level, packed)


def _tile_group(group: SegmentRows, first_level: int, packed: list[tuple[int, int, int]]) -> RowGroup:
    """The tiles of neighbouring keys."""
    first, end, num_keys = packed[0][1], packed[-1][1] + 1, len(packed)
    built = tiles.build(np.ascontiguousarray(group.values_RK[:, first:end].T), first_level)
    sizes = [tiles.bucket_sizes(group.num_rows, width) for width in tiles.level_rows(group.num_rows, first_level)]
    repeated = {
        "level": np.concatenate([np.full(len(s), first_level + level, np.int32) for level, s in enumerate(sizes)]),
        "bucket": np.concatenate([np.arange(len(s), dtype=np.int32) for s in sizes]),
        "count": np.concatenate(sizes),
    }
    num = len(repeated["count"])
    return RowGroup(
        {
            "key": key_column(list(group.keys[first:end]), [num] * num_keys),
            **{name: np.tile(column, num_keys) for name, column in repeated.items()},
            **{name: column.ravel() for name, column in built.items()},
        },
        {"keys": _runs(packed)},
        num * num_keys,
    )


def _packed(columns: Iterator[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Columns (group, key, values) in lists of at most a row group's values; a key is never divided."""
    held: list[tuple[int, int, int]] = []
    num_values = 0
    for column in columns:
        if held and num_values + column[2] > ROW_GROUP_VALUES:
            yield held
            held, num_values = [], 0
        held.append(column)
        num_values += column[2]
    if held:
        yield held


def _runs(columns: list[tuple[int, int, int]]) -> list[list[int]]:
    """Neighbouring keys of a group as [group, first key, end key, values a key]."""
    runs: list[list[int]] = []
    for group, key, num in columns:
        if runs and runs[-1][0] == group and runs[-1][2] == key:
            runs[-1][2] = key + 1
        else:
            runs.append([group, key, key + 1, num])
    return runs


def _line_files(lines: list[dict[str, Any]]) -> Iterator[bytes]:
    held = bytearray()
    for one in map(line, lines):
        if held and len(held) + len(one) > MAX_FILE_BYTES:
            yield bytes(held)
            held.clear()
        held += one
    if held:
        yield bytes(held)


def _file(number: int, role: str, index: int, suffix: str, data: bytes, more: Mapping[str, Any]) -> SegmentFile:
    name = f"{number}.{role}{index}{suffix}"
    about = {"name": name, "role": role, "bytes": len(data), "sha256": sha256(data), **more}
    return SegmentFile(data, about)


def _majority(rows_of: Counter[str]) -> str:
    """By key, the type that most of its points have."""
    if len(rows_of) == 1:
        return next(iter(rows_of))
    letters: list[str] = []
    for column in zip(*rows_of, strict=True):
        votes: Counter[str] = Counter()
        for letter, num in zip(column, rows_of.values(), strict=True):
            votes[letter] += num
        letters.append(votes.most_common(1)[0][0])
    return "".join(letters)
