import json
import math
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.errors import RecordError
from fanal.record.attempt import Start, Withhold, journal, start
from fanal.record.reading.read import Record, RunView
from fanal.record.run import Run
from tests.worlds.record import RUN


def several(folder: Path, num: int) -> list[Run]:
    """So many writers of one attempt, in order of their names."""
    runs = [start(folder, Start(id="a")), *(start(folder, Start(id="a", shared=True)) for _ in range(num - 1))]
    return sorted(runs, key=name_of)


def name_of(run: Run) -> str:
    assert run.place is not None
    return run.place.writer


def end(runs: list[Run]) -> None:
    for run in runs:
        run.finish()


def seen(folder: Path) -> RunView:
    return fanal.open(folder).runs["a"]


def test_two_writers_of_a_key_are_two_series_in_order_of_step_and_writer(tmp_path: Path) -> None:
    runs = several(tmp_path / "r", 2)
    for step in range(3):
        for index, run in enumerate(runs):
            run.log({"x": step + index / 4}, step)
    series = seen(tmp_path / "r").series("x")
    assert series.steps.tolist() == [0, 0, 1, 1, 2, 2]
    assert series.values.tolist() == [0, 0.25, 1, 1.25, 2, 2.25]
    assert series.writers.tolist() == [0, 1] * 3
    assert series.origins[1].writers == tuple(map(name_of, runs))
    assert (series.num_overwritten, series.num_joined) == (0, 0)
    mine = seen(tmp_path / "r").series("x", writer=name_of(runs[1]))
    assert mine.values.tolist() == [0.25, 1.25, 2.25]
    end(runs)


def test_each_writer_overwrites_its_own_points_alone(tmp_path: Path) -> None:
    runs = several(tmp_path / "r", 2)
    for step in (0, 1, 2, 1):
        runs[0].log({"x": float(step)}, step)
    runs[1].log({"x": 7.0}, 1)
    runs[0].log({"x": 9.0}, 1)
    series = seen(tmp_path / "r").series("x")
    assert list(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == [(0, 0), (1, 9), (1, 7), (2, 2)]
    assert series.num_overwritten == 2
    end(runs)


def test_declared_reductions_join_the_writers_of_a_step(tmp_path: Path) -> None:
    runs = several(tmp_path / "r", 3)
    for key, how in (("mean/x", "mean"), ("top", "max"), ("agreed", "same")):
        runs[0].event("metric", pattern=key.replace("x", "*"), reduce=how)
    for step in range(4):
        for index, run in enumerate(runs[: step + 1]):
            low = math.nan if (step, index) == (2, 1) else 0.1 * step + index
            run.log({"mean/x": low, "top": low, "agreed": step / 3}, step)
    view = seen(tmp_path / "r")
    assert view.series("mean/x").values.tolist()[:2] == [0.0, (0.1 + 1.1) / 2]
    assert math.isnan(view.series("mean/x").values[2])
    assert view.series("mean/x").values[3] == (0.1 * 3 + (0.1 * 3 + 1) + (0.1 * 3 + 2)) / 3
    assert view.series("top").values.tolist()[:2] == [0.0, 1.1]
    assert math.isnan(view.series("top").values[2])
    agreed = view.series("agreed")
    assert agreed.values.tolist() == [step / 3 for step in range(4)]
    assert agreed.writers.tolist() == [0, -1, -1, -1]
    assert agreed.num_joined == 5
    assert len(view.series("agreed", writer=name_of(runs[0]))) == 4
    assert len(view.exact("agreed")) == 9
    end(runs)


def test_writers_that_must_agree_and_do_not_are_named_with_step_and_values(tmp_path: Path) -> None:
    runs = several(tmp_path / "r", 2)
    runs[0].event("metric", pattern="x", reduce="same")
    for step in range(3):
        for index, run in enumerate(runs):
            run.log({"x": math.nan if step == 0 else step + (step == 2) * index / 2}, step)
    with pytest.raises(RecordError, match=r"'x' .* at step 2 they logged 2\.0, 2\.5"):
        seen(tmp_path / "r").series("x")
    end(runs)


def test_samples_in_time_overwrite_and_supersede_nothing(tmp_path: Path) -> None:
    for attempt in (1, 2):
        run = start(tmp_path / "r", Start(id="a", from_step=0))
        run.event("metric", pattern="system/*", axis="time")
        for sample in range(4):
            run.log({"system/gpu": float(10 * attempt + sample)}, sample // 2, time_ns=1000 * attempt - sample)
        run.finish()
    series = seen(tmp_path / "r").series("system/gpu")
    assert series.values.tolist() == [13, 12, 11, 10, 23, 22, 21, 20]
    assert (np.diff(series.times_ns[:4]) > 0).all()
    assert (series.num_overwritten, series.num_superseded) == (0, 0)
    assert seen(tmp_path / "r").series("system/gpu", attempt=1).values.tolist() == [13, 12, 11, 10]


def test_a_metric_is_what_the_later_said_field_by_field(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"eval/x": 1.0, "train/loss": 2.0, "[odd] *key": 3.0}, 0)
    run.event("metric", pattern="eval/*", text="Loss of a domain", unit="nats", better="lower")
    run.event("metric", pattern="eval/x", text="Loss of x")
    run.event("metric", pattern="[odd] *key", unit="apples")
    with journal(tmp_path / "r") as notes:
        notes.event("metric", pattern="*/x", unit="bits", goal="maximize")
    view = seen(tmp_path / "r")
    metric = view.metric("eval/x")
    assert (metric.text, metric.unit, metric.better, metric.goal) == ("Loss of x", "bits", "lower", "maximize")
    assert metric.lower_is_better is False
    assert view.metric("train/loss").unit == "nats per token"  # what Fanal itself says of its keys
    assert view.metric("[odd] *key").unit == "apples"
    assert view.metric("unknown").text is None
    run.finish()


def test_a_description_written_later_is_seen_after_a_refresh(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0}, 0)
    record = Record(tmp_path / "r")
    assert record.runs["a"].metric("x").unit is None
    with journal(tmp_path / "r") as notes:
        notes.event("metric", pattern="x", unit="s")
    assert record.refresh()
    assert record.runs["a"].metric("x").unit == "s"
    run.finish()


def test_the_summary_is_what_was_set_over_what_was_declared_over_the_last(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    declared = {"low": "min", "high": "max", "mid": "mean", "good": "best", "early": "first", "not": "none"}
    for key, how in declared.items():
        run.event("metric", pattern=key, summary=how, goal="maximize" if key == "good" else None)
    for step, value in enumerate((2.0, 7.0, math.nan, 1.0)):
        run.log({**dict.fromkeys([*declared, "set", "plain"], value), "count": step, "flag": step > 1}, step)
    run.log({"words": "at the end"}, 4)
    run.event("summary", values={"set": 1.5, "note": "mine"})
    run.event("summary", values={"note": "mine, again"})
    wanted = {"low": 1.0, "high": 7.0, "mid": 10 / 3, "good": 7.0, "early": 2.0, "set": 1.5, "plain": 1.0, "count": 3}
    found = seen(tmp_path / "r").summary
    assert found == {**wanted, "flag": True, "words": "at the end", "note": "mine, again"}
    assert (type(found["count"]), type(found["flag"])) == (int, bool)
    run.finish()
    assert seen(tmp_path / "r").summary == found


def test_the_summarys_last_point_is_that_of_the_default_view(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    assert view.summary["train/loss"] == view.series("train/loss").values[-1]
    assert view.summary["big"] == view.exact("big")[-1]
    assert view.summary["train/tokens"] == 128 * 120


def test_a_config_is_read_from_its_blob_and_from_old_inline_objects(tmp_path: Path) -> None:
    config = {"lr": 0.00018805814126031094, "n": 2**63 + 1, "deep": {"nan": math.nan, "two": 2.0}}
    run = start(tmp_path / "r", Start(id="a", config=config))
    view = seen(tmp_path / "r")
    assert math.isnan(view.config["deep"].pop("nan"))
    assert view.config == {"lr": 0.00018805814126031094, "n": 2**63 + 1, "deep": {"two": 2.0}}
    run.finish()


def test_a_blob_that_is_gone_hinders_nothing_but_itself(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", config={"lr": 1}))
    run.log({"x": 1.0}, 0)
    run.finish()
    for blob in (tmp_path / "r" / "blobs").iterdir():
        blob.unlink()
    view = seen(tmp_path / "r")
    assert view.series("x").values.tolist() == [1.0]
    assert view.attempts[0].outcome == "finished"
    with pytest.raises(RecordError, match=r"blob .* is missing"):
        _ = view.config


def test_the_journal_is_no_run(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    assert Record(tmp_path / "r").journal is None
    with journal(tmp_path / "r") as notes:
        notes.event("anchor", root="00", size=1, where="here")
    record = Record(tmp_path / "r")
    assert list(record.runs) == ["a"]
    assert record.journal is not None
    assert [event.fields["where"] for event in record.journal.events("anchor")] == ["here"]
    run.finish()


def test_a_search_finds_words_in_keys_meanings_and_units(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.event("metric", pattern="speed", text="Tokens trained", unit="tokens/s")
    run.log({"speed": 1.0, "eval/tokens": 2.0, "x": 3.0}, 0)
    record = Record(tmp_path / "r")
    assert [found.metric.key for found in record.search("TOKENS")] == ["eval/tokens", "speed"]
    assert [found.metric.key for found in record.search("trained tokens/s")] == ["speed"]
    assert record.search("nothing like it") == []
    run.finish()


def test_a_fork_shows_what_it_was_forked_from_whatever_that_run_does_later(tmp_path: Path) -> None:
    def attempt(run: str, steps: range, value: float, from_run: str | None = None) -> None:
        opened = start(tmp_path / "r", Start(id=run, from_step=steps.start, from_run=from_run))
        for step in steps:
            opened.log({"x": value}, step)
        opened.finish()

    attempt("a", range(10), 1.0)
    attempt("fork", range(6, 8), 2.0, from_run="a")
    before = fanal.open(tmp_path / "r").runs["fork"].series("x").values.tolist()
    assert before == [1.0] * 6 + [2.0] * 2
    attempt("a", range(3, 12), 3.0)
    view = fanal.open(tmp_path / "r").runs["fork"]
    assert view.series("x").values.tolist() == before
    assert [(a.number, a.run, a.of_run) for a in view.attempts] == [(1, "a", 1), (2, "fork", 1)]
    assert seen(tmp_path / "r").series("x").values.tolist() == [1.0] * 3 + [3.0] * 9


def test_what_is_withheld_is_read_here_and_named(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", withhold=(Withhold("secret/*", "under review"),)))
    run.log({"x": 1.0, "secret/y": 2.0}, 0)
    view = seen(tmp_path / "r")
    assert view.series("secret/y").values.tolist() == [2.0]
    assert list(view.withheld.values()) == ["under review"]
    run.finish()


def test_missing_keys_attempts_and_writers_name_what_there_is(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    with pytest.raises(KeyError, match="no key 'train/los'; nearest: train/loss"):
        view.series("train/los")
    with pytest.raises(KeyError, match=r"no attempt 3; it has \[1, 2\]"):
        view.series("train/loss", attempt=3)
    with pytest.raises(KeyError, match=f"no writer 'x'; nearest: .*{view.origin(1).writers[0]}"):
        view.series("train/loss", writer="x")


def test_an_unknown_key_of_a_known_attempt_is_empty_only_where_another_attempt_has_it(tiny: Path) -> None:
    view = fanal.open(tiny).runs[RUN]
    with pytest.raises(KeyError, match="no key 'x'"):
        view.series("x", attempt=1)
    assert json.dumps(view.keys())
    assert len(view.series("big", attempt=2)) == 4


def test_of_two_writers_the_later_description_counts(tmp_path: Path) -> None:
    first = start(tmp_path / "r", Start(id="a", shared=True, clock=lambda: 1_000))
    second = start(tmp_path / "r", Start(id="a", shared=True, clock=lambda: 2_000))
    second.log({"x": 1.0}, 0)
    first.event("metric", pattern="x", unit="old")
    second.event("metric", pattern="x", unit="new")
    assert fanal.open(tmp_path / "r").runs["a"].metric("x").unit == "new"


def test_a_withheld_row_decides_nothing_of_what_a_copy_shows(tmp_path: Path) -> None:
    for attempt in range(2):
        run = start(tmp_path / "r", Start(id="a", withhold=(Withhold("secret", "not ours"),)))
        if attempt:
            run.log({"secret": 1.0}, 2)
        for step in range(8 * attempt, 12):
            run.log({"loss": float(attempt)}, step)
        run.finish()
    whole, public = fanal.open(tmp_path / "r").runs["a"], Record(tmp_path / "r", public=True).runs["a"]
    assert whole.series("loss").steps.tolist() == public.series("loss").steps.tolist() == list(range(12))


def test_a_name_set_later_is_the_runs_name(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", name="first"))
    run.event("settings", call="run.name", given={"name": "second"})
    assert fanal.open(tmp_path / "r").runs["a"].name == "second"
