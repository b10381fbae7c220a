import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fanal.record.frames import Fact, Row
from fanal.record.segments import tiles
from fanal.record.segments.parquet import ROW_GROUP_VALUES
from fanal.record.segments.segment_write import segment_files, taken_facts, taken_rows
from fanal.record.segments.tail import Defined, LogTail, TailGroup


def tail_of(rows: list[tuple[str, list[float]]]) -> LogTail:
    """Rows of keys a and b with their types, sequences 10, 11, …"""
    tail = LogTail(Path("nowhere"))
    group = tail.groups[frozenset("ab")] = TailGroup(("a", "b"))
    for number, (types, values) in enumerate(rows):
        row = Row(1, number * 2, 1000 + number, np.array(values).tobytes())
        group.add(10 + number, row, Defined(("a", "b"), types, group, None))
    return tail


def test_a_segment_takes_rows_and_facts_up_to_its_last_sequence() -> None:
    tail = tail_of([("ff", [float(n), -1.0]) for n in range(8)])
    tail.facts = [(n, Fact("note", None, 5, {"text": str(n)})) for n in (9, 12, 20)]
    (rows,) = taken_rows(tail, 13)
    assert rows.sequences.tolist() == [10, 11, 12, 13]
    assert rows.about() == {
        "first_row": 0,
        "num_rows": 4,
        "first_sequence": 10,
        "first_row_step": 0,
        "min_step": 0,
        "max_step": 6,
        "rising": True,
    }
    assert [fact["sequence"] for fact in taken_facts(tail, 13)] == [9, 12]


def test_the_commonest_type_is_the_keys_and_the_rest_are_named() -> None:
    tail = tail_of([("fi", [0.5, 1.0]), ("ff", [0.5, 1.5]), ("fi", [0.5, 3.0]), ("bi", [1.0, 4.0])])
    (rows,) = taken_rows(tail, 99)
    assert rows.types == "fi"
    assert [(point["sequence"], point["key"], point["type"]) for point in rows.odd] == [(11, "b", "f"), (13, "a", "b")]


def test_the_names_of_files_hold_no_key() -> None:
    names = [file.about["name"] for file in segment_files(7, taken_rows(tail_of([("ff", [0.5, 1.0])]), 99), [])]
    assert names == ["7.names0.json.gz", "7.values0.parquet", "7.rows0.parquet"]


def test_small_groups_share_files_and_row_groups() -> None:
    tail = LogTail(Path("nowhere"))
    for number in range(300):
        key = (f"k{number:03d}",)
        group = tail.groups[frozenset(key)] = TailGroup(key)
        group.add(number, Row(1, number, 1000, np.array([float(number)]).tobytes()), Defined(key, "f", group, None))
    files = list(segment_files(1, taken_rows(tail, 10**9), []))
    assert [file.about["role"] for file in files] == ["names", "values", "rows"]
    assert [len(file.about["row_groups"]) for file in files[1:]] == [1, 1]
    table = pq.read_table(io.BytesIO(files[1].data))
    assert table["key"].to_pylist() == [f"k{number:03d}" for number in range(300)]
    assert table["value"].to_pylist() == list(range(300))
    assert pq.read_table(io.BytesIO(files[2].data))["sequence"].to_pylist() == list(range(300))


def test_a_row_group_holds_whole_keys_and_the_manifest_says_which() -> None:
    tail = tail_of([("ff", [float(n), -float(n)]) for n in range(ROW_GROUP_VALUES // 2 + 1)])
    values = next(file for file in segment_files(1, taken_rows(tail, 10**9), []) if file.about["role"] == "values")
    num = ROW_GROUP_VALUES // 2 + 1
    assert [one["keys"] for one in values.about["row_groups"]] == [[[0, 0, 1, num]], [[0, 1, 2, num]]]


@pytest.mark.parametrize("rows", [tiles.LEAST_ROWS - 1, tiles.LEAST_ROWS])
def test_tiles_hold_what_the_rows_hold(rows: int) -> None:
    tail = tail_of([("ff", [float(n), 0.1]) for n in range(rows)])
    found = [file for file in segment_files(1, taken_rows(tail, 10**9), []) if file.about["role"] == "tiles"]
    if rows < tiles.LEAST_ROWS:
        assert found == []
        return
    table = pq.read_table(io.BytesIO(found[0].data)).to_pylist()
    short = [row for row in table if row["key"] == "a" and row["level"] == 0]
    assert [(row["bucket"], row["count"], row["min"], row["max"]) for row in short] == [
        (b, 16, b * 16.0, b * 16.0 + 15) for b in range(rows // 16)
    ]
    assert {row["level"] for row in table if row["key"] == "b"} == {tiles.LONG_LEVEL}
    assert {row["nonfinite"] for row in table} == {0}
