from pathlib import Path

import numpy as np

from fanal.record.frames import Fact, Row
from fanal.record.segment_write import segment_files, taken_facts, taken_rows
from fanal.record.tail import Defined, LogTail, TailGroup


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
