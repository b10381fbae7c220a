"""CSV files of every kind that people have: what cells, columns and lines mean, and what is said of those that fail."""

import math
from pathlib import Path
from typing import Any

import pytest

from fanal.errors import RecordError
from fanal.importers.report import ImportReport
from fanal.importers.source import import_source
from fanal.record.reading.read import Record, open_record


def imported(folder: Path, data: str | bytes, name: str = "t.csv") -> tuple[Record, ImportReport]:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    report = import_source("csv", path, folder / "record")
    return open_record(folder / "record"), report


def points(record: Record, run: str = "t") -> dict[str, dict[int, Any]]:
    view = record.runs[run]
    return {k: dict(zip(view.series(k).steps.tolist(), view.exact(k), strict=True)) for k in view.keys()}  # noqa: SIM118


def test_a_wide_table_has_a_column_a_metric_and_blank_cells_are_nothing(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "step,loss,n,flag\n0,0.5,1,True\n1,,2,\n3,nan,,False\n")
    found = points(record)
    assert math.isnan(found["loss"].pop(3))
    assert found == {"loss": {0: 0.5}, "n": {0: 1, 1: 2}, "flag": {0: True, 3: False}}
    assert (report.runs[0].rows, report.exit_code) == (3, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfstep;loss\r\n0;0,5\r\n1;0,25\r\n",
        "step\tloss\n0\t0.5\n1\t0.25\n".encode("utf-16"),
        b"step|loss\n0|0.5\n1|0.25",
        b'"step","loss"\n"0","0.5"\n"1","0.25"\n',
        b"Step,loss\n0.0,5e-1\n1.0,2.5E-1\n",
    ],
    ids=["semicolon, decimal comma, mark", "utf-16 tabs", "bar, no last line end", "quoted", "floats"],
)
def test_separators_encodings_and_quotes_are_told(tmp_path: Path, data: bytes) -> None:
    record, _ = imported(tmp_path, data)
    assert points(record) == {"loss": {0: 0.5, 1: 0.25}}


def test_a_long_table_names_the_metric_in_a_column(tmp_path: Path) -> None:
    record, _ = imported(tmp_path, "step,metric,value\n0,loss,1.5\n0,a/b,2\n1,loss,1.25\n")
    assert points(record) == {"loss": {0: 1.5, 1: 1.25}, "a/b": {0: 2}}


def test_a_column_that_names_the_run_divides_the_table(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "run,step,loss\nx,0,1.5\ny,0,2.5\nx,1,1.0\n")
    assert list(record.runs) == ["x", "y"]
    assert points(record, "x") == {"loss": {0: 1.5, 1: 1.0}}
    assert [run.rows for run in report.runs] == [2, 1]


def test_the_chart_export_of_wandb_is_divided_by_run(tmp_path: Path) -> None:
    header = '"Step","calm-sun-1 - loss","calm-sun-1 - loss__MIN","calm-sun-1 - loss__MAX","b - c - loss"\n'
    record, _ = imported(tmp_path, header + "0,1.5,1.0,2.0,\n10,1.25,1.25,1.25,7\n")
    assert points(record, "calm-sun-1")["loss"] == {0: 1.5, 10: 1.25}
    assert points(record, "calm-sun-1")["loss__MIN"] == {0: 1.0, 10: 1.25}
    second = list(record.runs)[1]
    assert (record.runs[second].name, points(record, second)) == ("b - c", {"loss": {10: 7}})


def test_the_export_of_tensorboard_takes_run_and_tag_from_the_files_name(tmp_path: Path) -> None:
    for tag in ("loss", "acc"):
        (tmp_path / f"run-train_1-tag-{tag}.csv").write_text("Wall time,Step,Value\n1700000000.5,3,0.5\n", "utf-8")
    import_source("csv", tmp_path, tmp_path / "record")
    record = open_record(tmp_path / "record")
    assert points(record, "train_1") == {"loss": {3: 0.5}, "acc": {3: 0.5}}
    assert record.runs["train_1"].series("loss").times_ns.tolist() == [1_700_000_000_500_000_000]


def test_lightnings_sparse_rows_and_its_rewritten_header_add_only_what_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "version_0"
    folder.mkdir()
    imported(folder, "epoch,step,loss\n0,9,0.5\n0,19,0.25\n", "metrics.csv")
    record, report = imported(folder, "epoch,step,loss,val\n0,9,0.5,\n0,19,0.25,\n0,19,,0.75\n", "metrics.csv")
    assert points(record, "version_0") == {"epoch": {9: 0, 19: 0}, "loss": {9: 0.5, 19: 0.25}, "val": {19: 0.75}}
    assert (report.runs[0].added_rows, len(record.runs["version_0"].attempts)) == (1, 1)


def test_a_table_written_anew_with_other_rows_is_a_new_attempt(tmp_path: Path) -> None:
    imported(tmp_path, "step,loss\n0,1\n1,2\n2,3\n")
    record, report = imported(tmp_path, "step,loss\n1,20\n2,30\n")
    assert points(record) == {"loss": {0: 1, 1: 20, 2: 30}}
    assert record.runs["t"].series("loss", attempt=1).values.tolist() == [1, 2, 3]
    assert "written anew" in report.text


def test_ragged_rows_and_bad_steps_are_named_by_their_line_and_the_others_read(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "step,loss\n0,0.5\n1,0.5,9\nx,0.5\n2.5,1\n3,0.25\n")
    assert points(record) == {"loss": {0: 0.5, 3: 0.25}}
    assert [(one.where, one.what) for one in report.runs[0].unreadable] == [
        ("line 3", "has 3 cells, the header 2"),
        ("line 4", "the step 'x' is no integer"),
        ("line 5", "the step 2.5 is no integer"),
    ]
    assert report.exit_code == 1


def test_a_torn_last_row_is_a_torn_tail(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "step,loss,acc\n0,0.5,1\n1,0.2")
    assert points(record)["loss"] == {0: 0.5}
    assert (report.exit_code, report.runs[0].torn_bytes) == (0, 5)


def test_a_cell_of_several_lines_is_one_and_a_stray_quote_swallows_one_line_only(tmp_path: Path) -> None:
    record, report = imported(tmp_path, 'step,text,loss\n0,"two\nlines",1\n1,5" pipe,2\n2,x,3\n')
    assert points(record)["loss"] == {0: 1, 1: 2, 2: 3}
    assert report.exit_code == 0
    assert {o.value for o in record.runs["t"].others()} == {"two\nlines", '5" pipe', "x"}


def test_rows_without_a_step_are_numbered_and_it_is_said(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "loss\n0.5\n0.25\n")
    assert points(record) == {"loss": {0: 0.5, 1: 0.25}}
    assert "rows are numbered" in report.text


def test_names_that_break_other_tools_are_names(tmp_path: Path) -> None:
    names = ["length", "__proto__", "a.b", "a/b", "[x] y", "损失/训练", "../../etc", "e\u0301", "\u00e9"]
    record, _ = imported(tmp_path, "step," + ",".join(names) + "\n0" + ",1" * len(names) + "\n")
    assert list(points(record)) == names


def test_a_line_that_cannot_be_divided_is_named(tmp_path: Path) -> None:
    record, report = imported(tmp_path, "step,loss\n0,1\n1,2\r2,3\n3,4\n")
    assert points(record)["loss"] == {0: 1, 3: 4}
    assert [one.where for one in report.runs[0].unreadable] == ["line 3"]


@pytest.mark.parametrize("data", ["", "\n", "a,a\n1,2\n", ",,\n1,2,3\n", "a\rb\r"])
def test_what_is_no_table_is_bad_input(tmp_path: Path, data: str) -> None:
    with pytest.raises(RecordError):
        imported(tmp_path, data)


def test_a_header_without_a_row_claims_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"t\.csv: a header and no row"):
        imported(tmp_path, "step,loss\n")
    (tmp_path / "u.csv").write_text("step,loss\n0,1\n", "utf-8")
    report = import_source("csv", tmp_path, tmp_path / "record")
    assert [run.run for run in report.runs] == ["u"]


def test_a_binary_file_is_no_text_table(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"t\.csv is no text table"):
        imported(tmp_path, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")
    record, _ = imported(tmp_path, b"step,loss\n0,1\n\0\0\0")  # what a crash leaves
    assert points(record) == {"loss": {0: 1}}
