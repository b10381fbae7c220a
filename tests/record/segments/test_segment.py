import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fanal.errors import RecordError
from fanal.record.files import seal, sha256
from fanal.record.frames import Fact, Row
from fanal.record.layout import WriterPath
from fanal.record.segments.segment import Segment, _Pages  # pyright: ignore[reportPrivateUsage]
from fanal.record.segments.segment_write import segment_files, taken_facts, taken_rows
from fanal.record.segments.tail import Defined, LogTail, TailGroup
from fanal.record.values import encode

NUM_ROWS = 600
BIG = 2**60 + 1


@pytest.fixture(autouse=True)
def no_page_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test writes the same bytes, whose pages a process keeps by their hash."""
    monkeypatch.setattr("fanal.record.segments.segment._PAGES", _Pages(1 << 20))


def value(key: int, row: int) -> float:
    return math.nan if (key, row) == (1, 7) else key * 1000 + row / 8


def tail() -> LogTail:
    """Two groups, of three keys and of one, an event, and an integer that no float64 holds."""
    tail = LogTail(Path("nowhere"))
    for keys, first in ((("a", "b", "a\ud800"), 1), (("seldom",), 10_000)):
        group = tail.groups[frozenset(keys)] = TailGroup(keys)
        defined = Defined(keys, "ffi"[: len(keys)], group, None)
        for row in range(NUM_ROWS if first == 1 else 5):
            values = np.array([value(k, row) for k in range(len(keys))]).tobytes()
            exact = ((2, encode(BIG)),) if first == 1 and row == 3 else ()
            group.add(first + row, Row(1, row * 10, 10**18 + row**2, values, exact), defined)
    tail.facts = [(9000, Fact("note", 5, 77, {"text": "x"}))]
    return tail


def written(folder: Path) -> tuple[WriterPath, dict[str, Any]]:
    """A segment's files in the folder of a writer, and the fields of its manifest."""
    place = WriterPath(folder, "a", 1, "w")
    (place.folder / "seg").mkdir(parents=True)
    rows, facts = taken_rows(tail(), 10**9), taken_facts(tail(), 10**9)
    files = list(segment_files(1, rows, facts))
    for file in files:
        (place.folder / "seg" / file.about["name"]).write_bytes(file.data)
    fields = {"number": 1, "first_sequence": 1, "last_sequence": 10_004, "final": True}
    return place, fields | {"groups": [group.about() for group in rows], "files": [dict(f.about) for f in files]}


def role(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return next(file for file in fields["files"] if file["role"] == name)


def test_what_a_segment_holds_is_what_the_log_held(tmp_path: Path) -> None:
    place, fields = written(tmp_path)
    (place.folder / "seg" / "1.json").write_bytes(seal(fields))
    segment = Segment.open(place, 1)
    assert [list(group.keys) for group in segment.groups] == [["a", "b", "a\ud800"], ["seldom"]]
    for k, key in enumerate(("a", "b", "a\ud800")):
        (group,) = segment.groups_of(key)
        np.testing.assert_array_equal(segment.values(group, key), [value(k, row) for row in range(NUM_ROWS)])
    rows = segment.rows(segment.groups[0])
    assert rows.steps.tolist() == [row * 10 for row in range(NUM_ROWS)]
    assert rows.times_ns.tolist() == [10**18 + row**2 for row in range(NUM_ROWS)]
    assert rows.sequences.tolist() == list(range(1, NUM_ROWS + 1))
    assert segment.rows(segment.groups[1]).sequences.tolist() == list(range(10_000, 10_005))
    assert segment.facts() == tail().facts


def test_types_and_exact_values_stand_beside_the_floats(tmp_path: Path) -> None:
    segment = Segment(*written(tmp_path))
    points = list(segment.exact("a\ud800"))
    assert [points[3], points[4]] == [(4, "i", encode(BIG)), (5, "i", None)]
    assert segment.typed("a\ud800", 4) == ("i", encode(BIG))
    assert segment.typed("b", 4) == ("f", None)
    with pytest.raises(KeyError, match="10003"):
        segment.typed("b", 10_003)


def test_rows_without_pages_in_the_manifest_are_read_as_parquet(tmp_path: Path) -> None:
    place, fields = written(tmp_path)
    new = Segment(place, fields).rows(Segment(place, fields).groups[0])
    file = role(fields, "rows")
    path = place.folder / "seg" / file["name"]
    table = pq.read_table(path)
    pq.write_table(table.cast(pa.schema([f.with_nullable(False) for f in table.schema])), path, compression="gzip")
    file |= {"sha256": sha256(path.read_bytes()), "bytes": path.stat().st_size, "row_groups": [{"pages": {}}]}
    old = Segment(place, fields).rows(Segment(place, fields).groups[0])
    for column in ("steps", "times_ns", "sequences"):
        np.testing.assert_array_equal(getattr(old, column), getattr(new, column))


@pytest.mark.parametrize("name", ["rows", "values"])
def test_a_changed_file_is_never_read_as_if_it_were_whole(tmp_path: Path, name: str) -> None:
    place, fields = written(tmp_path)
    file = role(fields, name)
    path = place.folder / "seg" / file["name"]
    start, length = file["row_groups"][0]["pages"]["step" if name == "rows" else "value"]
    data = bytearray(path.read_bytes())
    data[start + length // 2] ^= 1
    path.write_bytes(data)
    segment = Segment(place, fields)
    with pytest.raises(RecordError, match=f"1.{name}0.parquet has changed since it was closed"):
        segment.rows(segment.groups[0]) if name == "rows" else segment.values(segment.groups[0], "a")


@pytest.mark.parametrize("name", ["names", "rows", "values"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    place, fields = written(tmp_path)
    segment = Segment(place, fields)
    (place.folder / "seg" / role(fields, name)["name"]).unlink()
    asked = {
        "names": lambda: Segment(place, _renamed(fields)),
        "rows": lambda: segment.rows(segment.groups[0]),
        "values": lambda: segment.values(segment.groups[0], "b"),
    }
    with pytest.raises(RecordError, match=f"1.{name}0.* is missing: restore it from a copy"):
        asked[name]()


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields with names that no segment of this process has had."""
    files = [file | {"sha256": "0" * 64} if file["role"] == "names" else file for file in fields["files"]]
    return fields | {"files": files}
