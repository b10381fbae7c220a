"""What is read from a record is what was logged: nothing sampled, dropped, overwritten in silence or out of reach."""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import fanal
from fanal.record.attempt import Start, start
from fanal.record.layout import all_writers
from fanal.record.proof.verify import verify
from fanal.record.reading.compare import differences
from fanal.record.reading.stitch import stitch

CRASH = """
import os, signal, sys
from pathlib import Path
from fanal.record.attempt import Start, start
run = start(Path(sys.argv[1]), Start(id="a"))
for step in range(213):
    run.log({"loss": 100.0 + step}, step)
os.kill(os.getpid(), signal.SIGKILL)
"""


def strictly(text: str) -> Any:
    """JSON as browsers read it: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_r3_a_config_with_infinity_and_the_word_nan_reads_back_and_all_json_is_strict(tmp_path: Path) -> None:
    config = {"lr": math.inf, "s": "NaN"}
    for _ in range(2):
        run = start(tmp_path / "r", Start(id="a", config=config))
        run.log({"v": math.nan, "w": -math.inf}, 0)
        run.event("summary", values={"best": math.nan})
        run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.config == config
    assert {name: type(value) for name, value in view.config.items()} == {"lr": float, "s": str}
    assert math.isnan(view.summary["best"])
    num_texts = 0
    for path in (tmp_path / "r").rglob("*.json*"):
        if path.suffix != ".gz":
            num_texts += len([strictly(line) for line in path.read_text("utf-8").splitlines()])
    blob = fanal.open(tmp_path / "r").blob(view.events("config")[0].fields["config"])
    assert strictly(blob.decode()) == {"lr": {"$float": "Infinity"}, "s": "NaN"}
    assert [strictly(json.dumps(difference.to_json())) for difference in differences(view)]
    assert num_texts > 6


def test_r7_steps_that_go_back_lose_no_row_and_the_overwritten_are_counted(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for step in itertools.chain(range(250), range(200, 261)):
        run.log({"loss": float(step)}, step)
    for closed in (False, True):
        if closed:
            run.finish()
        view = fanal.open(tmp_path / "r").runs["a"]
        series = view.series("loss")
        assert sum(len(piece.steps) for piece in view.pieces("loss", 1)) == 311
        assert series.steps.tolist() == list(range(261))
        assert series.num_overwritten == 50
        assert len(view.attempts) == 1


def test_r8_four_attempts_at_one_step_are_listed_with_time_and_cause_and_all_stay_readable(tmp_path: Path) -> None:
    before = time.time_ns()
    for attempt in range(4):
        how = Start(id="a", cause="rewind" if attempt else None, from_step=100 if attempt else None)
        run = start(tmp_path / "r", how)
        for step in range(100 if attempt else 0, 120 + attempt):
            run.log({"loss": 1000.0 * attempt + step}, step)
        run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert [(a.number, a.cause, a.from_step) for a in view.attempts] == [
        (1, "start", 0),
        (2, "rewind", 100),
        (3, "rewind", 100),
        (4, "rewind", 100),
    ]
    times = [t for a in view.attempts for t in (a.start_ns, a.end_ns) if t is not None]
    assert len(times) == 8
    assert before <= times[0]
    assert times == sorted(times)
    assert view.series("loss").values.tolist() == [*map(float, range(100)), *(3000.0 + s for s in range(100, 123))]
    for attempt in range(4):
        wanted = [1000.0 * attempt + step for step in range(100 if attempt else 0, 120 + attempt)]
        assert view.series("loss", attempt=attempt + 1).values.tolist() == wanted


def test_r9_seven_runs_with_overlapping_steps_become_one_series_whose_points_name_their_run(tmp_path: Path) -> None:
    names = [f"part{number}" for number in range(7)]
    for number, name in enumerate(names):
        run = start(tmp_path / "r", Start(id=name))
        for step in range(number * 80, number * 80 + 100):
            run.log({"loss": step + number / 8}, step)
        run.finish()
    stitch(tmp_path / "r", names, "whole")
    series = fanal.open(tmp_path / "r").runs["whole"].series("loss")
    owners = [min(step // 80, 6) for step in range(580)]
    assert series.steps.tolist() == list(range(580))
    assert series.values.tolist() == [step + number / 8 for step, number in enumerate(owners)]
    assert [series.origins[number].run for number in series.attempts.tolist()] == [names[number] for number in owners]
    assert series.num_superseded == 6 * 20
    assert verify(tmp_path / "r").ok


def test_r10_a_resume_with_another_rate_keeps_both_configs_and_says_what_changed(tmp_path: Path) -> None:
    for attempt, lr in enumerate((0.1, 0.01)):
        start(tmp_path / "r", Start(id="a", config={"lr": lr, "layers": 2}, from_step=10 * attempt)).finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert [attempt.config["lr"] for attempt in view.attempts] == [0.1, 0.01]
    (difference,) = differences(view)
    changed = [(c.path, c.kind, c.before, c.after) for c in difference.changes if c.what == "config"]
    assert changed == [(("lr",), "changed", 0.1, 0.01)]


def test_r21_a_key_in_26_of_100_000_rows_reads_as_26_points_however_it_is_asked_for(tmp_path: Path) -> None:
    rare = set(range(0, 100_000, 4000)) | {99_999}
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(100_000):
        run.log({"a": step / 7, "b": float(step)} if step in rare else {"a": step / 7}, step)
    for closed in (False, True):
        if closed:
            run.finish()
        view = fanal.open(tmp_path / "r").runs["a"]
        for keys in (["a"], ["b"], ["a", "b"], ["b", "a"]):
            found = {key: view.series(key) for key in keys}
            if "b" in found:
                assert found["b"].steps.tolist() == sorted(rare)
                assert len(found["b"]) == 26
            if "a" in found:
                np.testing.assert_array_equal(found["a"].steps, np.arange(100_000))
                assert found["a"].values.tobytes() == (np.arange(100_000) / 7).tobytes()
                assert found["a"].values.max() == 99_999 / 7


def test_k2_after_a_crash_and_a_resume_each_step_has_one_row_of_the_run_that_goes_on(tmp_path: Path) -> None:
    crashed = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path / "r")], check=False)
    assert crashed.returncode == -signal.SIGKILL
    run = start(tmp_path / "r", Start(id="a", from_step=201))  # the checkpoint was of step 200
    for step in range(201, 231):
        run.log({"loss": 500.0 + step}, step)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    series = view.series("loss")
    assert series.steps.tolist() == list(range(231))
    assert series.values.tolist() == [*(100.0 + s for s in range(201)), *(500.0 + s for s in range(201, 231))]
    assert (series.num_superseded, series.num_overwritten) == (12, 0)
    assert view.series("loss", attempt=1).values.tolist() == [100.0 + step for step in range(213)]
    assert [attempt.outcome for attempt in view.attempts] == [None, "finished"]
    assert view.events("recovered")[0].fields["frames"] >= 213
    assert os.listdir(next(iter(all_writers(tmp_path / "r"))).folder / "seg")  # noqa: PTH208
