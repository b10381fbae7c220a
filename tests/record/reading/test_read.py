import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.errors import RecordError
from fanal.record.attempt import Start, start
from fanal.record.reading.read import Record
from tests.worlds.record import BIG, EVAL_EVERY, REWIND_TO, RUN, shown_losses, wide_key, wide_record


def test_the_default_view_is_stitched_and_exact(tiny: Path) -> None:
    series = fanal.open(tiny).runs[RUN].series("train/loss")
    wanted = shown_losses()
    assert series.steps.tolist() == sorted(wanted)
    np.testing.assert_array_equal(series.values, [wanted[step] for step in sorted(wanted)])
    assert series.attempts.tolist() == [1 if step < REWIND_TO else 2 for step in sorted(wanted)]
    assert (np.diff(series.times_ns) >= 0).all()
    assert series.num_superseded == 20
    assert len(series) == 120


def test_what_was_superseded_stays_readable_by_attempt(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    assert view.series("train/loss", attempt=1).steps.tolist() == list(range(100))
    assert view.series("train/loss", attempt=2).steps.tolist() == list(range(80, 120))


def test_types_and_large_integers_survive_closing(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    assert view.exact("big") == [BIG + step for step in range(0, 120, EVAL_EVERY)]
    assert set(map(type, view.exact("flag"))) == {bool}
    assert view.exact("train/tokens")[:3] == [128, 256, 384]


def test_a_run_says_what_it_is(tiny: Path) -> None:
    record = fanal.open(tiny)
    view = record.runs[RUN]
    assert (view.id, view.role, view.name, view.config) == (RUN, "hero", "Tiny", {"lr": 0.05})
    assert view.keys() == ["train/loss", "train/tokens", "flag", "eval/macro", "big"]
    first, second = view.attempts
    assert (first.cause, first.outcome, first.reason) == ("start", "interrupted", "loss too high")
    assert first.config == {"lr": 0.1}
    assert (second.cause, second.from_step, second.from_attempt, second.outcome) == ("rewind", REWIND_TO, 1, "finished")
    assert second.end_ns is not None
    assert second.end_ns > second.start_ns > first.start_ns
    assert record.header["format"] == 1
    assert record.campaign is None


def test_events_stand_in_order_of_attempt_and_sequence(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    kinds = ["attempt.start", "config", "sample", "attempt.end"]
    assert [(e.attempt, e.kind) for e in view.events()] == [(a, kind) for a in (1, 2) for kind in kinds]
    assert [e.fields["text"] for e in view.events("sample")] == ["Once upon attempt 1", "Once upon attempt 2"]
    assert view.events("sample")[1].step == 119


def test_a_missing_run_or_key_names_the_nearest(tiny: Path) -> None:
    record = fanal.open(tiny)
    with pytest.raises(KeyError, match="no run 'tinny'; nearest: tiny"):
        record.runs["tinny"]
    with pytest.raises(KeyError, match="no key 'train/los'; nearest: train/loss"):
        record.runs[RUN].series("train/los")
    with pytest.raises(KeyError, match=r"no attempt 3; it has \[1, 2\]"):
        record.runs[RUN].series("train/loss", attempt=3)


def test_a_folder_that_holds_a_record_is_a_record_argument(tiny: Path) -> None:
    assert list(fanal.open(tiny.parent).runs) == [RUN]
    with pytest.raises(RecordError, match="is no record"):
        fanal.open(tiny / "runs")


def test_a_live_record_is_read_at_the_cost_of_what_is_new(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    record = Record(tmp_path / "r")
    assert list(record.runs) == ["a"]
    assert record.runs["a"].keys() == []
    view = record.runs["a"]
    for step in range(20):
        run.log({"x": step / 2}, step)
        begun = time.perf_counter()
        assert record.refresh()
        assert view.series("x").values.tolist() == [s / 2 for s in range(step + 1)]
        assert time.perf_counter() - begun < 0.5
        assert not record.refresh()
    run.event("note", text="now")
    record.refresh()
    assert view.events("note")[0].fields["text"] == "now"
    run.finish()
    assert record.refresh()
    assert record.runs["a"] is view
    assert view.series("x").values.tolist() == [s / 2 for s in range(20)]
    assert view.attempts[0].outcome == "finished"
    assert not record.refresh()
    later = start(tmp_path / "r", Start(id="a", from_step=20))
    later.log({"x": 99.0}, 20)
    record.refresh()
    assert view.series("x").values[-1] == 99.0
    later.finish()


def test_the_highest_sequence_of_a_step_wins_and_the_rest_is_counted(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for first, end in ((0, 250), (200, 261)):
        for step in range(first, end):
            run.log({"x": float(first + step)}, step)
    run.finish()
    series = fanal.open(tmp_path / "r").runs["a"].series("x")
    assert series.steps.tolist() == list(range(261))
    assert series.values.tolist() == [float(s) for s in range(200)] + [200.0 + s for s in range(200, 261)]
    assert series.num_overwritten == 50


def test_runs_stand_in_order_of_creation_and_the_campaign_apart(tmp_path: Path) -> None:
    runs = [start(tmp_path / "r", Start(id=id, role=role)) for id, role in (("z", "rung"), ("campaign", "campaign"))]
    runs.append(start(tmp_path / "r", Start(id="a", role="hero")))
    record = Record(tmp_path / "r")
    assert list(record.runs) == ["z", "a"]
    assert record.campaign is not None
    assert record.campaign.id == "campaign"
    for run in runs:
        run.finish()


def test_nan_and_infinities_are_points(tiny: Path) -> None:
    values = fanal.open(tiny).runs[RUN].series("train/loss").values
    assert math.isnan(values[50])
    assert values[55] == -math.inf
    assert values[60] == 99.0


def test_a_damaged_segment_is_said_with_its_file(tmp_path: Path) -> None:
    wide_record(tmp_path / "r", 3, 50)
    (manifest,) = (tmp_path / "r").glob("runs/wide/1/*/seg/1.json")
    file = next(file for file in json.loads(manifest.read_bytes())["files"] if file["role"] == "values")
    path = manifest.parent / file["name"]
    data = bytearray(path.read_bytes())
    data[file["row_groups"][0]["pages"]["value"][0] + 40] ^= 1
    path.write_bytes(data)
    view = fanal.open(tmp_path / "r").runs["wide"]
    with pytest.raises(RecordError, match=r"values0\.parquet has changed since it was closed"):
        view.series(wide_key(0))
