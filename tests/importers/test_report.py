"""The report's words: gaps where steps are regular, duplicates counted, totals read back from the record."""

import json
from pathlib import Path

import pytest

from fanal.importers.report import RunReport
from fanal.importers.source import import_source
from fanal.record.reading.read import open_record


def report_of(folder: Path, steps: list[int]) -> RunReport:
    rows = [json.dumps({"step": step, "a": 1.5, "b": 2}) for step in steps]
    (folder / "x.jsonl").write_text("\n".join(rows), "utf-8")
    return import_source("jsonl", folder / "x.jsonl", folder / "record").runs[0]


@pytest.mark.parametrize(
    ("steps", "stride", "gaps"),
    [
        ([*range(10), *range(13, 20)], 1, [[9, 13]]),
        (list(range(0, 100, 10)), 10, []),
        ([0, 10, 20, 50, 60, 90], 10, [[20, 50], [60, 90]]),
        ([0, 1, 5, 7, 20, 21, 90], None, []),
        ([5], 0, []),
    ],
)
def test_gaps_are_wider_than_the_usual_distance(
    tmp_path: Path, steps: list[int], stride: int | None, gaps: list[list[int]]
) -> None:
    report = report_of(tmp_path, steps)
    assert (report.stride_steps, report.gaps, report.num_gaps) == (stride, gaps, len(gaps))
    assert (report.first_step, report.last_step) == (steps[0], steps[-1])


def test_duplicates_are_points_that_came_again(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0, 1, 2, 1, 2, 3])
    assert (report.duplicates, report.values, report.rows) == (4, 12, 6)
    assert "duplicates: 4 points" in report.text


def test_the_report_is_an_event_of_the_run_and_is_json(tmp_path: Path) -> None:
    report = report_of(tmp_path, [0, 1])
    (event,) = open_record(tmp_path / "record").runs["x"].events("imported")
    assert event.fields["source_kind"] == "jsonl"
    assert event.fields["report"]["rows"] == report.rows == 2
