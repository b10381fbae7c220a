from pathlib import Path

import pytest

import fanal
from fanal.errors import RecordError, RefusedError
from fanal.record.attempt import Start, start
from fanal.record.proof.verify import verify
from fanal.record.reading.stitch import stitch

OFFSET = 1000.0


def training(folder: Path, run: str, steps: range, number: int) -> None:
    """A run that logs the step and, a thousand apart, which run it is."""
    opened = start(folder, Start(id=run, project="hero", config={"part": number}))
    for step in steps:
        opened.log({"loss": step + OFFSET * number}, step)
    opened.finish("failed" if number < 2 else "finished")


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Three runs that overlap."""
    for number, (run, steps) in enumerate({"a": range(40), "b": range(30, 60), "c": range(45, 80)}.items()):
        training(tmp_path / "r", run, steps, number)
    return tmp_path / "r"


def test_the_stitched_run_is_one_series_without_duplicates(parts: Path) -> None:
    stitch(parts, ["a", "b", "c"], "all")
    series = fanal.open(parts).runs["all"].series("loss")
    assert series.steps.tolist() == list(range(80))
    owner = [0 if step < 30 else 1 if step < 45 else 2 for step in range(80)]
    assert series.values.tolist() == [step + OFFSET * number for step, number in enumerate(owner)]
    assert [series.origins[number].run for number in series.attempts.tolist()] == ["abc"[number] for number in owner]
    assert series.num_superseded == 10 + 15


def test_its_attempts_are_those_of_its_parts_and_these_stay_as_they_were(parts: Path) -> None:
    before = {run: view.series("loss").values.tolist() for run, view in fanal.open(parts).runs.items()}
    stitch(parts, ["a", "b", "c"], "all")
    record = fanal.open(parts)
    view = record.runs["all"]
    assert [(a.number, a.run, a.of_run, a.config["part"]) for a in view.attempts] == [
        (1, "a", 1, 0),
        (2, "b", 1, 1),
        (3, "c", 1, 2),
    ]
    assert view.config == {"part": 2}
    assert {run: record.runs[run].series("loss").values.tolist() for run in before} == before
    assert view.series("loss", attempt=2).steps.tolist() == list(range(30, 60))
    assert verify(parts).ok


def test_a_stitched_run_can_be_gone_on_with_and_forked(parts: Path) -> None:
    stitch(parts, ["a", "b", "c"], "all")
    on = start(parts, Start(id="all", from_step=70))
    on.log({"loss": -70.0}, 70)
    on.finish()
    fork = start(parts, Start(id="fork", from_run="all", from_step=50))
    fork.log({"loss": -50.0}, 50)
    fork.finish()
    record = fanal.open(parts)
    assert record.runs["all"].series("loss").values.tolist()[-2:] == [69 + 2 * OFFSET, -70.0]
    assert record.runs["fork"].series("loss").values.tolist()[-2:] == [49 + 2 * OFFSET, -50.0]
    assert [a.run for a in record.runs["fork"].attempts] == ["a", "b", "c", "all", "fork"]


def test_the_report_says_what_each_part_shows(parts: Path) -> None:
    training(parts, "d", range(10), 3)
    start(parts, Start(id="empty")).finish()
    report = stitch(parts, ["a", "empty", "b", "d"], "all")
    lines = report.text.splitlines()
    assert lines[0].endswith("run all is 4 runs read one after the other")
    assert [line.strip() for line in lines[1:]] == [
        "a: nothing: later runs took all its steps over (1 attempt)",
        "empty: no rows (1 attempt)",
        "b: nothing: later runs took all its steps over (1 attempt)",
        "d: steps 0 on (1 attempt)",
    ]
    assert report.to_json()["parts"][0] == {"run": "a", "from_step": 0, "end_step": 0, "attempts": 1}
    assert fanal.open(parts).runs["all"].series("loss").steps.tolist() == list(range(10))


def test_what_cannot_be_stitched_is_said(parts: Path) -> None:
    with pytest.raises(RecordError, match="no run 'bb'; nearest: b"):
        stitch(parts, ["a", "bb"], "all")
    with pytest.raises(RecordError, match="two or more different runs"):
        stitch(parts, ["a", "a"], "all")
    with pytest.raises(RefusedError, match="has a run 'c' already"):
        stitch(parts, ["a", "b"], "c")
    with pytest.raises(ValueError, match="cannot be a folder's name"):
        stitch(parts, ["a", "b"], "../all")
    assert set(fanal.open(parts).runs) == {"a", "b", "c"}
