"""A run's rows: which step they go to, what becomes of odd ones, and that nothing is lost or raises."""

import math
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

import fanal
from tests.tracker.conftest import read


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


def test_the_step_moves_on_by_one_for_each_row_that_is_done() -> None:
    run = begin()
    run.log({"a": 1})
    run.log({"b": 2}, commit=False)
    run.log({"c": 3}, commit=False)
    run.log({"d": 4})
    run.log({"e": 5})
    assert run.step == 3
    fanal.finish()
    steps = {key: read().series(key).steps.tolist() for key in "abcde"}
    assert steps == {"a": [0], "b": [1], "c": [1], "d": [1], "e": [2]}


def test_a_step_of_the_scripts_own_stays_open_until_a_row_without_one() -> None:
    run = begin()
    run.log({"a": 1}, step=10, commit=True)
    run.log({"a": 2})
    run.log({"b": 3}, step=20)
    run.log({"b": 4})
    run.log({"b": 5})
    fanal.finish()
    assert read().series("a").steps.tolist() == [10, 11]
    assert (read().series("b").steps.tolist(), read().exact("b")) == ([20, 21], [4, 5])
    assert len(read().series("b", attempt=1).steps) == 2


def test_a_lower_step_is_kept_and_the_run_goes_on_from_the_highest() -> None:
    run = begin()
    for step in range(8):
        run.log({"loss": float(step)}, step=step)
    for step in range(5, 7):
        run.log({"loss": 50.0 + step}, step=step)
    assert run.step == 7
    run.log({"late": 1.0})
    fanal.finish()
    series = read().series("loss")
    assert series.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 55.0, 56.0, 7.0]
    assert read().series("late").steps.tolist() == [7]


def test_a_row_with_commit_false_is_there_after_a_kill() -> None:
    code = """
        import os, signal, fanal
        fanal.init(dir="r", id="a")
        fanal.log({"x": 1.0}, commit=False)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert read().exact("x") == [1.0]


@pytest.mark.parametrize("step", [3.0, "3", None, math.nan, 2**70, -5, True, object()], ids=repr)
def test_no_step_raises(step: Any) -> None:
    run = begin()
    run.log({"x": 1.0}, step=step)
    fanal.finish()
    assert read().exact("x") == [1.0]


def test_unknown_arguments_of_log_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    run = begin()
    for _ in range(3):
        run.log({"x": 1.0}, sync=True)  # pyright: ignore[reportCallIssue]
    fanal.finish()
    assert capsys.readouterr().err.count("sync") == 1
    assert [(e.fields["call"], e.fields["given"]) for e in read().events("settings")] == [("log", {"sync": True})]


def test_threads_get_a_step_each() -> None:
    run = begin()

    def work(name: str) -> None:
        for i in range(200):
            run.log({name: i})

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run.step == 800
    fanal.finish()
    steps = [step for n in range(4) for step in read().series(f"t{n}").steps.tolist()]
    assert sorted(steps) == list(range(800))


def test_config_and_summary_are_objects_of_both_kinds_and_in_the_record() -> None:
    run = begin(config={"lr": 0.1, 3: "three"})
    run.config.update({"lr": 0.2, "depth": 4}, allow_val_change=False)
    run.config.setdefaults({"depth": 9, "seed": 7})
    run.config.batch = 16
    run.config["dropout"] = 0.0
    assert (run.config.lr, run.config["depth"], run.config.seed, run.config.get("none", 1)) == (0.2, 4, 7, 1)
    assert ("seed" in run.config, "none" in run.config, run.config[3]) == (True, False, "three")
    with pytest.raises(AttributeError, match="config has no 'none'"):
        _ = run.config.none
    run.log({"loss": 1.0})
    run.log({"loss": 0.5, "acc": {"top1": 0.9}})
    run.summary["best"] = 0.5
    run.summary.update({"test": {"loss": 0.25}})
    run.summary.final = True
    assert dict(run.summary) == {"loss": 0.5, "acc.top1": 0.9, "best": 0.5, "test": {"loss": 0.25}, "final": True}
    assert (run.summary.get("absent"), run.summary["acc.top1"], "loss" in run.summary) == (None, 0.9, True)
    fanal.finish()
    view = read()
    assert view.config == {"lr": 0.2, 3: "three", "depth": 4, "seed": 7, "batch": 16, "dropout": 0.0}
    assert view.summary == {"loss": 0.5, "acc.top1": 0.9, "best": 0.5, "test": {"loss": 0.25}, "final": True}
    assert len(view.events("config")) == 2, "changes made together are one event"


def test_of_a_summary_that_is_set_and_logged_the_later_stands() -> None:
    run = begin(withhold=["private/*"])
    run.define_metric("low", summary="min")
    run.summary.update({"loss": 100.0, "low": 100.0, "private/x": 100.0, "picture": 1})
    for value in (2.0, 1.0, 3.0):
        run.log({"loss": value, "low": value, "private/x": value, "text": "a", "acc": value})
    run.log({"picture": fanal.Html("<p>")})
    run.summary["acc"] = 0.5
    expected = {"loss": 3.0, "low": 1.0, "private/x": 100.0, "picture": 1, "text": "a", "acc": 0.5}
    assert dict(run.summary) == expected
    fanal.finish()
    assert read().summary == expected
    assert not any("private/x" in event.fields["values"] for event in read().events("summary")[1:])
    run = begin(resume="must")
    run.log({"acc": 0.75})
    fanal.finish()
    assert read().summary == expected | {"acc": 0.75}, "what an earlier attempt set"


def test_a_row_stands_over_what_was_set_also_after_a_kill() -> None:
    code = """
        import os, signal, fanal
        run = fanal.init(dir="r", id="a")
        run.summary["best"] = 2
        fanal.log({"best": 1.5})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert read().summary == {"best": 1.5}


def test_a_change_of_config_is_in_the_record_without_a_further_call() -> None:
    code = """
        import os, signal, time, fanal
        run = fanal.init(dir="r", id="a")
        run.config["lr"] = 0.5
        time.sleep(1.0)
        run.summary["best"] = 2
        fanal.log({"x": 1.0})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert read().config == {"lr": 0.5}
    assert read().summary["best"] == 2


def test_the_rest_that_a_run_answers_to() -> None:
    with begin(project="p") as run:
        run.name, run.notes = "after", "found later"
        run.tags += ("late",)
        run.mark_preempting()
        run.write_logs("a line")
        assert (run.name, run.notes, run.tags) == ("after", "found later", ("late",))
        assert run.status().sync_items_pending == 0
        assert run.start_time > 0
        assert run.settings.mode is None
    assert fanal.run is None
    assert [e.fields["call"] for e in read().events("settings")] == [
        "run.name",
        "run.notes",
        "run.tags",
        "mark_preempting",
    ]
    assert read().events("note")[0].fields["text"] == "a line"
    assert read().attempts[0].outcome == "finished"


def test_an_exception_inside_the_run_is_its_end() -> None:
    def script() -> None:
        with begin() as run:
            run.log({"x": 1.0})
            raise ValueError("a fault of the script")

    with pytest.raises(ValueError, match="of the script"):
        script()
    assert (read().attempts[0].outcome, read().attempts[0].reason) == ("failed", "ValueError")
    run = begin(resume="allow")
    run.finish(exit_code=2)
    assert (read().attempts[1].outcome, read().attempts[1].reason) == ("failed", "exit code 2")
    run.log({"x": 2.0})
    assert read().exact("x") == [1.0]
