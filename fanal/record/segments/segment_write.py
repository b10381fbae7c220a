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

from fanal.record.files import line, sha256
from fanal.record.segments import columns, tiles
from fanal.record.segments.columns import Chunk
from fanal.record.segments.parquet import MAX_FILE_BYTES, ROW_GROUP_VALUES, RowGroup, write_files
from fanal.record.segments.tail import LogTail, TailGroup


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
        ("values", value_groups(rows), ("value",)),
        ("rows", _row_groups(rows), ("step", "time_ns", "sequence")),
        ("tiles", tile_groups(rows), ("nonfinite", "min", "max", "mean")),
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


def value_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    """The values of whole keys, neighbours together."""
    shared: dict[tuple[int, ...], dict[str, Chunk]] = {}
    for picked in _packed((g, k, group.num_rows) for g, group in enumerate(rows) for k in range(len(group.keys))):
        groups = tuple(g for g, _, _ in picked)
        if groups not in shared:
            shared[groups] = {
                "row": columns.integers(np.concatenate([rows[g].row_numbers for g in groups])),
                "step": columns.integers(np.concatenate([rows[g].steps for g in groups])),
            }
        runs, nums = _runs(picked), [num for *_, num in picked]
        values = [rows[g].values_RK[:, first:end].T.ravel() for g, first, end, _ in runs]
        key = columns.names([rows[g].keys[k] for g, k, _ in picked], nums)
        value = columns.floats(np.concatenate(values))
        yield RowGroup({"key": key, **shared[groups], "value": value}, {"keys": runs}, sum(nums))


def _row_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    """The rows of neighbouring groups together, since most groups are small."""
    for picked in _packed((g, 0, group.num_rows) for g, group in enumerate(rows)):
        groups = [rows[g] for g, _, _ in picked]
        parts = {
            "row": [group.row_numbers for group in groups],
            "step": [group.steps for group in groups],
            "time_ns": [group.times_ns for group in groups],
            "sequence": [group.sequences for group in groups],
        }
        chunks = {name: columns.integers(np.concatenate(part)) for name, part in parts.items()}
        yield RowGroup(chunks, {}, sum(group.num_rows for group in groups))


def tile_groups(rows: list[SegmentRows]) -> Iterator[RowGroup]:
    """The buckets of whole keys, neighbours that begin at the same level together."""
    for number, group in enumerate(rows):
        if group.num_rows < tiles.LEAST_ROWS:
            continue
        levels = tiles.build(group.values_RK)
        shared: dict[tuple[int, int], dict[str, Chunk]] = {}
        firsts = tiles.first_levels(group.values_RK).tolist()
        for first_level, keys in groupby(range(len(group.keys)), firsts.__getitem__):
            num = tiles.num_buckets(group.num_rows, first_level)
            for picked in _packed((number, key, num) for key in keys):
                same = (first_level, len(picked))
                if same not in shared:
                    shared[same] = _places(group.num_rows, first_level, len(picked))
                yield _tile_group(group.keys, levels[first_level:], shared[same], picked)


def _places(num_rows: int, first_level: int, num_keys: int) -> dict[str, Chunk]:
    """Which buckets so many keys have: the same for all keys of a group."""
    sizes = [tiles.bucket_sizes(num_rows, width) for width in tiles.level_rows(num_rows, first_level)]
    levels = np.concatenate([np.full(len(s), first_level + level, np.int32) for level, s in enumerate(sizes)])
    buckets = np.concatenate([np.arange(len(s), dtype=np.int32) for s in sizes])
    return {
        "level": columns.few_integers(np.tile(levels, num_keys)),
        "bucket": columns.integers(np.tile(buckets, num_keys)),
        "count": columns.few_integers(np.tile(np.concatenate(sizes), num_keys)),
    }


def _tile_group(
    keys: tuple[str, ...], levels: list[tiles.Level], places: dict[str, Chunk], picked: list[tuple[int, int, int]]
) -> RowGroup:
    """The tiles of neighbouring keys."""
    first, end, nums = picked[0][1], picked[-1][1] + 1, [num for *_, num in picked]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(level, name)[:, first:end] for level in levels]).T.ravel()

    return RowGroup(
        {
            "key": columns.names(list(keys[first:end]), nums),
            **places,
            "nonfinite": columns.plain_integers(column("nonfinite")),
            **{name: columns.floats(column(name)) for name in ("min", "max", "mean")},
        },
        {"keys": _runs(picked)},
        sum(nums),
    )


def _packed(picked: Iterator[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Columns (group, key, values) in lists of at most a row group's values; a key is never divided."""
    held: list[tuple[int, int, int]] = []
    num_values = 0
    for column in picked:
        if held and num_values + column[2] > ROW_GROUP_VALUES:
            yield held
            held, num_values = [], 0
        held.append(column)
        num_values += column[2]
    if held:
        yield held


def _runs(picked: list[tuple[int, int, int]]) -> list[list[int]]:
    """Neighbouring keys of a group as [group, first key, end key, values a key]."""
    runs: list[list[int]] = []
    for group, key, num in picked:
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
