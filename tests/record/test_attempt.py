import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.errors import RecordError, RefusedError
from fanal.record.attempt import Start, start
from fanal.record.read import Record
from fanal.record.verify import verify
from fanal.tracker.current import current


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_kill_straight_after_the_thousandth_row_loses_nothing(tmp_path: Path) -> None:
    code = """
        import os, signal, sys, fanal
        fanal.init(dir=sys.argv[1], id="killed")
        for n in range(1000):
            fanal.log({"x": n / 7, "n": n, "even": n % 2 == 0, "big": 2**60 + n}, step=2 * n)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert python(code, tmp_path / "r").returncode == -signal.SIGKILL
    view = fanal.open(tmp_path / "r").runs["killed"]
    assert view.series("x").steps.tolist() == list(range(0, 2000, 2))
    assert view.series("x").values.tolist() == [n / 7 for n in range(1000)]
    assert (np.diff(view.series("x").times_ns) >= 0).all()
    for key, wanted in (("n", list(range(1000))), ("big", [2**60 + n for n in range(1000)])):
        assert view.exact(key) == wanted
        assert {type(value) for value in view.exact(key)} == {int}
    assert view.exact("even") == [n % 2 == 0 for n in range(1000)]
    assert {type(value) for value in view.exact("even")} == {bool}
    assert view.attempts[0].outcome is None
    report = verify(tmp_path / "r")
    assert report.ok, report.words
    assert "not closed yet" in report.words


def test_logging_loads_no_numpy_or_pyarrow(tmp_path: Path) -> None:
    code = """
        import sys, fanal
        heavy = {"numpy", "pyarrow", "jax", "tokenizers", "starlette", "scipy"}
        assert not heavy & set(sys.modules), "import"
        fanal.init(dir=sys.argv[1], id="light", config={"lr": 0.1})
        fanal.log({"x": 1.0})
        assert fanal.run.id == "light"
        assert not heavy & set(sys.modules), "log"
        fanal.finish()
        assert not heavy & set(sys.modules), "finish"
        assert fanal.run is None
    """
    done = python(code, tmp_path / "r")
    assert done.returncode == 0, done.stderr


def test_after_finish_no_process_and_no_log_is_left(tmp_path: Path) -> None:
    before, children = threading.active_count(), Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    others = children.read_text()
    run = fanal.init(project="p", dir=tmp_path / "r", id="a")
    fanal.log({"x": 1.5}, step=3)
    fanal.finish()
    assert threading.active_count() == before
    assert children.read_text() == others
    assert not list((tmp_path / "r").rglob("*.log"))
    assert verify(tmp_path / "r").ok
    run.log({"x": 2.0})  # says so, and does no harm
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5]


def test_odd_values_and_keys_are_kept_and_never_raise(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Hostile:
        def item(self) -> float:
            raise RuntimeError("no")

    keys = ["", "length", "__proto__", "a.b", "a/b", "a", "[x] y", "损失/训练", "../../etc", "k" * 10_000, "x "]
    keys += ["\ud800", "\u00e9", "e\u0301", "\x00\x1b", "\u202e", "$float"]
    run = start(tmp_path / "r", Start(id="odd"))
    run.log({key: float(n) for n, key in enumerate(keys)}, 0)
    run.log({"t": "text", "none": None, "arr": np.arange(3), "h": Hostile(), "ok": 1.0, 3: 2.0}, 1)  # pyright: ignore
    for value in (np.float16(0.5), np.float32("nan"), np.int64(7), np.bool_(True), np.array(0.25), np.float64("inf")):
        run.log({"np": value})
    run.log({"mixed": 1})
    run.log({"mixed": 1.0})
    run.log({"mixed": True})
    run.log({"huge": 10**5000, "neg": -(2**63) - 1})
    run.log({})
    run.log(5.0)  # pyright: ignore[reportArgumentType]
    run.log({"s": 1.0}, step=np.int32(500))  # pyright: ignore[reportArgumentType]
    run.log({"s": 2.0}, step="soon")  # pyright: ignore[reportArgumentType]
    run.log({"s": 3.0}, step=2**62 - 1)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["odd"]
    assert [view.series(key).values.tolist() for key in keys] == [[float(n)] for n in range(len(keys))]
    others = {other.key: other.value for other in view.others()}
    assert others["t"] == "text"
    assert others["none"] is None
    assert others["arr"] == [0, 1, 2]
    assert "$repr" in others["h"]
    assert view.series("ok").values.tolist() == [1.0]
    assert view.series("3").values.tolist() == [2.0]
    found = view.exact("np")
    assert (found[0], found[2:]) == (0.5, [7, True, 0.25, math.inf])
    assert math.isnan(found[1])
    assert [type(value) for value in view.exact("mixed")] == [int, float, bool]
    assert view.exact("huge") == [10**5000]
    assert view.exact("neg") == [-(2**63) - 1]
    assert view.series("s").steps.tolist() == [500, 501, 2**62 - 1]
    assert verify(tmp_path / "r").ok
    said = capfd.readouterr().err
    assert said.count("'h' is Hostile") == 1
    assert not [p for p in (tmp_path / "r").rglob("*") if "etc" in p.name]


def test_without_a_step_rows_follow_each_other(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", from_step=10))
    run.log({"x": 0.0})
    run.log({"x": 1.0})
    run.log({"x": 2.0}, step=20)
    run.log({"x": 3.0})
    run.finish()
    assert fanal.open(tmp_path / "r").runs["a"].series("x").steps.tolist() == [10, 11, 20, 21]


def test_events_outside_the_table_are_refused(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    with pytest.raises(ValueError, match="nearest: note"):
        run.event("notte", text="x")
    with pytest.raises(ValueError, match="misses 'text'"):
        run.event("note")
    run.event("note", step=4, text="x\ud800")
    run.finish()
    (note,) = fanal.open(tmp_path / "r").runs["a"].events("note")
    assert (note.step, note.fields["text"], note.attempt) == (4, "x\ud800", 1)


def test_a_run_that_this_process_has_open_is_refused(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    with pytest.raises(RefusedError, match="open in this process"):
        start(tmp_path / "r", Start(id="a"))
    run.finish()


def test_a_run_that_another_process_writes_is_refused_until_it_is_gone(tmp_path: Path) -> None:
    code = 'import fanal, sys; fanal.init(dir=sys.argv[1], id="a"); print("begun", flush=True); input()'
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "r")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(RefusedError, match=rf"written by process {other.pid} \(attempt 1\)"):
            start(tmp_path / "r", Start(id="a"))
        other.kill()
    run = start(tmp_path / "r", Start(id="a"))
    assert run.attempt == 2
    run.finish()


def test_init_in_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(RecordError, match="cannot become a record"):
        fanal.init(dir=tmp_path / "f" / "r")
    with pytest.raises(ValueError, match="run id"):
        fanal.init(dir=tmp_path / "r", id="../x")
    assert current() is None


def test_names_become_ids_and_are_made_unique(tmp_path: Path) -> None:
    ids: list[str] = []
    for how in (Start(name="My run"), Start(name="My run"), Start()):
        run = start(tmp_path / "r", how)
        ids.append(run.id)
        run.finish()
    assert ids[:2] == ["My-run", "My-run-2"]
    assert ids[2].startswith("run-")
    assert [view.name for view in Record(tmp_path / "r").runs.values()] == ["My run", "My run", ids[2]]


def test_a_second_init_ends_the_first_run(tmp_path: Path) -> None:
    fanal.init(dir=tmp_path / "r", id="a")
    fanal.init(dir=tmp_path / "r", id="b")
    assert fanal.open(tmp_path / "r").runs["a"].attempts[0].outcome == "finished"
    fanal.finish()
    with pytest.raises(RuntimeError, match=r"call fanal\.init"):
        fanal.log({"x": 1.0})


def test_a_process_that_forgets_finish_is_recorded_as_interrupted(tmp_path: Path) -> None:
    done = python('import fanal, sys; fanal.init(dir=sys.argv[1], id="a"); fanal.log({"x": 1})', tmp_path / "r")
    assert done.returncode == 0, done.stderr
    (attempt,) = fanal.open(tmp_path / "r").runs["a"].attempts
    assert (attempt.outcome, attempt.reason) == ("interrupted", "the process ended without finish()")


def test_threads_and_a_forked_child_lose_no_row(tmp_path: Path) -> None:
    code = """
        import os, sys, threading, fanal
        fanal.init(dir=sys.argv[1], id="many")
        def work(n):
            for i in range(500):
                fanal.log({f"t{n}": i}, step=i)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        [t.start() for t in threads], [t.join() for t in threads]
        if os.fork() == 0:
            for i in range(10):
                fanal.log({"child": i}, step=i)
            sys.exit()
        os.wait()
        fanal.log({"parent": 1}, step=500)
        fanal.finish()
    """
    done = python(code, tmp_path / "r")
    assert done.returncode == 0, done.stderr
    view = fanal.open(tmp_path / "r").runs["many"]
    for n in range(6):
        assert view.exact(f"t{n}") == list(range(500))
    assert view.exact("child") == list(range(10))
    assert view.exact("parent") == [1]
    assert len(view.events("attempt.end")) == 1
    report = verify(tmp_path / "r")
    assert report.ok, report.words


def test_a_full_disk_stops_no_training_and_leaves_a_gap_that_shows(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys, fanal
        run = fanal.init(dir=sys.argv[1], id="full")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        for i in range(9000):
            run.log({"a": i, "b": 1.0, "c": 2.0}, step=i)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        run.log({"after": 1.0}, step=9000)
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("rows are being lost") == 1
    view = fanal.open(tmp_path / "r").runs["full"]
    kept = view.exact("a")
    assert kept == list(range(len(kept)))
    assert 2000 < len(kept) < 9000
    assert view.exact("after") == [1]
    report = verify(tmp_path / "r")
    assert report.exit_code == 1
    assert "were damaged or lost before it was closed" in report.words


def test_config_keeps_types(tmp_path: Path) -> None:
    config = {"lr": 0.00018805814126031094, "two": 2.0, "n": 10**30, "inf": math.inf, "s": "NaN", "t": (1, 2), 3: "x"}
    run = start(tmp_path / "r", Start(id="a", config=config))  # pyright: ignore[reportArgumentType]
    run.finish()
    found = fanal.open(tmp_path / "r").runs["a"].config
    assert found == config | {"t": [1, 2]}
    assert type(found["two"]) is float
    json.dumps(found["lr"])
