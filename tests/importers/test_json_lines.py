"""JSON lines: types kept, a bad line named, the torn last line read once it is finished."""

import json
import math
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.importers.source import import_source
from fanal.record.reading.read import open_record


def test_values_keep_type_and_nested_objects_become_dotted_names(tmp_path: Path) -> None:
    row = {"step": 3, "loss": math.nan, "n": 2**63 + 1, "m": {"a": True, "b": {"c": 0.5}}, "text": "x", "none": None}
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    report = import_source("jsonl", tmp_path / "log.jsonl", tmp_path / "record")
    view = open_record(tmp_path / "record").runs[tmp_path.name]
    assert math.isnan(view.series("loss").values[0])
    assert (view.exact("n"), view.exact("m.a"), view.exact("m.b.c")) == ([2**63 + 1], [True], [0.5])
    assert {other.key: other.value for other in view.others()} == {"text": "x", "none": None}
    assert (report.runs[0].first_step, report.runs[0].last_step) == (3, 3)


def test_a_bad_line_is_named_and_the_torn_last_one_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"step": 0, "a": 1}\n[1]\n\n{"step": 1, "a"', "utf-8")
    report = import_source("jsonl", path, tmp_path / "record")
    assert [one.where for one in report.runs[0].unreadable] == ["line 2"]
    assert (report.runs[0].rows, report.runs[0].torn_bytes, report.exit_code) == (1, 15, 1)
    path.write_text('{"step": 0, "a": 1}\n[1]\n\n{"step": 1, "a": 2}', "utf-8")
    again = import_source("jsonl", path, tmp_path / "record")
    assert (again.runs[0].added_rows, again.runs[0].rows, again.runs[0].torn_bytes) == (1, 2, 0)
    assert [one.where for one in again.runs[0].unreadable] == ["line 2"]


def test_a_folder_is_a_run_a_file(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / f"{name}.jsonl").write_text('{"step": 0, "a": 1}\n', "utf-8")
    import_source("jsonl", tmp_path, tmp_path / "record")
    assert list(open_record(tmp_path / "record").runs) == ["x", "y"]


def test_a_file_in_which_no_line_is_an_object_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("step,loss\n0,1\n", "utf-8")
    with pytest.raises(RecordError, match=r"no line is an object; the first is 'step,loss'"):
        import_source("jsonl", path, tmp_path / "record")
    path.write_text('{"step": 1, "a"', "utf-8")
    assert import_source("jsonl", path, tmp_path / "record").runs[0].torn_bytes == 15
