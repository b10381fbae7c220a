import errno
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.errors import RecordError, RefusedError
from fanal.record import layout
from fanal.record.attempt import Start, start
from fanal.record.blobs import read_blob
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record
from fanal.record.run import open_runs
from fanal.record.segments import closing
from fanal.record.writer import CLOSE_SECONDS
from fanal.tracker.current import current
from tests.worlds.processes import python


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


def test_the_process_that_trains_loads_nothing_heavy_for_the_record(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        heavy = {"numpy", "pyarrow", "jax", "cryptography", "subprocess", "asyncio", "ssl", "multiprocessing"}
        run = start(Path(sys.argv[1]), Start(id="light", config={"lr": 0.1}, notes="words"))
        run.log({"x": 1.0, "t": "text"})
        run.event("process", argv=[], executable="", folder="", host="", user=None, environment={})
        run.finish()
        print(sorted(heavy & set(sys.modules)))
    """
    done = python(code, tmp_path / "r")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_after_finish_no_process_and_no_log_is_left(tmp_path: Path) -> None:
    closing.stop()
    before, children = threading.active_count(), Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    others = children.read_text()
    run = fanal.init(project="p", dir=tmp_path / "r", id="a")
    fanal.log({"x": 1.5}, step=3)
    fanal.finish()
    assert threading.active_count() == before
    assert len(children.read_text().split()) == len(others.split()) + 1  # waits for the next run to close
    closing.stop()
    assert children.read_text() == others
    assert not list((tmp_path / "r").rglob("*.log"))
    assert verify(tmp_path / "r").ok
    run.log({"x": 2.0})  # says so, and does no harm
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5]


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
        with pytest.raises(RefusedError, match=rf"written by process {other.pid} \(attempt 1, since 20\d\d-.* UTC\)"):
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
    code = """
        import sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        start(Path(sys.argv[1]), Start(id="a")).log({"x": 1})
        """
    done = python(code, tmp_path / "r")
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


def test_config_keeps_types(tmp_path: Path) -> None:
    config = {"lr": 0.00018805814126031094, "two": 2.0, "n": 10**30, "inf": math.inf, "s": "NaN", "t": (1, 2), 3: "x"}
    run = start(tmp_path / "r", Start(id="a", config=config))  # pyright: ignore[reportArgumentType]
    run.finish()
    found = fanal.open(tmp_path / "r").runs["a"].config
    assert found == config | {"t": [1, 2]}
    assert type(found["two"]) is float
    json.dumps(found["lr"])


def test_names_groups_tags_and_notes_stand_in_the_beginning(tmp_path: Path) -> None:
    how = Start(id="b", name="B", group="g", job_type="eval", tags=("x", "y"), notes="words \ud800", from_run="a")
    run = start(tmp_path / "r", how)
    run.finish()
    (event,) = fanal.open(tmp_path / "r").runs["b"].events("attempt.start")
    assert (event.fields["cause"], event.fields["from_run"], event.fields["from_attempt"]) == ("fork", "a", None)
    assert (event.fields["group"], event.fields["job_type"], event.fields["tags"]) == ("g", "eval", ["x", "y"])
    assert read_blob(tmp_path / "r", event.fields["notes"]).decode("utf-8", "surrogatepass") == "words \ud800"


def test_a_beginning_that_fails_leaves_no_thread_and_no_open_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, others = threading.active_count(), open_runs()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr("fanal.record.attempt.manifest.commit", refuse)
    with pytest.raises(RecordError, match="quota"):
        start(tmp_path / "r", Start(id="a"))
    assert threading.active_count() == before
    assert open_runs() == others
    monkeypatch.undo()
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0})
    run.finish()
    assert verify(tmp_path / "r").ok


def test_secrets_in_notes_are_not_written(tmp_path: Path) -> None:
    token = "hf_" + "aB3" * 10
    start(tmp_path / "r", Start(id="a", notes=f"the token is {token}")).finish()
    notes = fanal.open(tmp_path / "r").runs["a"].events("attempt.start")[0].fields["notes"]
    assert read_blob(tmp_path / "r", notes) == b"the token is [secret withheld]"


def test_a_day_closes_what_is_open_however_little_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanal.record.writer.SYNC_SECONDS", 0.02)
    now = [10**18]
    run = start(tmp_path / "r", Start(id="a", clock=lambda: now[0]))
    place = run.place
    assert place is not None
    for day in range(3):
        for n in range(10):
            run.log({"x": float(n)}, day * 10 + n)
        now[0] += int(CLOSE_SECONDS * 1e9)
        until = time.monotonic() + 30
        while len(layout.numbered(place.folder / "seg", ".json")) < day + 1 and time.monotonic() < until:
            time.sleep(0.02)
    assert len(layout.numbered(place.folder / "seg", ".json")) == 3
    run.finish()
    series = fanal.open(tmp_path / "r").runs["a"].series("x")
    assert series.steps.tolist() == list(range(30))
    assert series.times_ns[0] == 10**18
    assert verify(tmp_path / "r").ok


def test_where_a_folder_cannot_be_written_init_says_so_and_log_never_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = start(tmp_path / "r", Start(id="a"))

    def refuse(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("mkdir", "pwrite", "write", "replace"):
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(RecordError, match="Read-only file system"):
        start(tmp_path / "r", Start(id="b"))
    with pytest.raises(RecordError, match="Read-only file system"):
        start(tmp_path / "new", Start(id="b"))
    for n in range(3000):
        run.log({"x": n, "text": "t" * 50}, n)
    run.blob(b"x", "text/plain")
    run.event("process", argv=[], executable="x", folder="/", host="h", user=None, environment={})
    monkeypatch.undo()
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.exact("x") == list(range(3000))
    assert capfd.readouterr().err.count("the log cannot grow: Read-only file system") == 1
