"""The one closing process of a process that logs: begun when needed, replaced when it dies, gone with its parent."""

import os
import signal
import time
from pathlib import Path

import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.owner import process_start
from fanal.record.proof.verify import verify
from fanal.record.segments import closing
from tests.worlds.processes import begin, python


@pytest.fixture(autouse=True)
def no_server_before() -> None:
    closing.stop()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_closing_that_fails_loses_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(closing, "RUN_AS", ("-c", "import sys; sys.exit('no space for segments')"))
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.5}, 0)
    run.finish()
    assert "the log was kept but not closed: no space for segments" in capfd.readouterr().err
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5]
    assert verify(tmp_path / "r").ok
    monkeypatch.undo()
    again = start(tmp_path / "r", Start(id="a", from_step=1))
    assert not list((tmp_path / "r").glob("runs/a/1/*/log/*"))
    again.log({"x": 2.5}, 1)
    again.finish()
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5, 2.5]


def test_an_interpreter_that_is_not_there_is_said_and_the_log_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.5}, 0)
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    run.finish()
    assert "the closing process cannot start: No such file" in capfd.readouterr().err
    assert verify(tmp_path / "r").ok


def test_the_closing_process_finds_fanal_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder was loaded')")
    monkeypatch.chdir(tmp_path)
    run = start(Path("r"), Start(id="a"))
    run.log({"x": 1.0})
    run.finish()
    assert not list((tmp_path / "r").rglob("*.log"))


def test_one_process_closes_run_after_run_at_low_priority(tmp_path: Path) -> None:
    pids: set[int] = set()
    before = children(os.getpid())
    for n in range(3):
        run = start(tmp_path / "r", Start(id=f"a{n}"))
        run.log({"x": float(n)})
        run.finish()
        pids |= set(children(os.getpid())) - set(before)
    (pid,) = pids
    assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
    assert os.getsid(pid) != os.getsid(0)  # Ctrl-C at the terminal is for the training
    assert not list((tmp_path / "r").rglob("*.log"))


def test_one_that_is_killed_is_replaced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = children(os.getpid())
    for n in range(2):
        run = start(tmp_path / "r", Start(id=f"a{n}"))
        run.log({"x": float(n)})
        run.finish()
        (pid,) = set(children(os.getpid())) - set(before)
        os.kill(pid, signal.SIGKILL)
        while process_start(pid) is not None:
            time.sleep(0.01)
    closing.stop()
    assert children(os.getpid()) == before
    assert not list((tmp_path / "r").rglob("*.log"))
    assert capfd.readouterr().err == ""


def test_one_that_is_killed_at_work_is_asked_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = tmp_path / "killed"
    code = f"""
import os, signal, sys
from fanal.record.segments import close
first = close._close_due
def dies(*arguments):
    if not os.path.exists({str(flag)!r}):
        open({str(flag)!r}, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return first(*arguments)
close._close_due = dies
sys.exit(close.main([]))
"""
    monkeypatch.setattr(closing, "RUN_AS", ("-P", "-c", code))
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0})
    run.finish()
    assert flag.exists()
    assert not list((tmp_path / "r").rglob("*.log"))
    assert verify(tmp_path / "r").ok


def test_it_ends_when_its_parent_is_killed_and_the_record_opens_and_closes_later(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        for n in range(2):
            run = start(Path(sys.argv[1]), Start(id=f"a{n}"))
            run.log({"x": float(n)})
            n or run.finish()
        print("begun", flush=True)
        input()
    """
    with begin(code, tmp_path / "r") as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "begun\n"
        (pid,) = children(parent.pid)
        parent.kill()
    until = time.monotonic() + 20
    while process_start(pid) is not None and time.monotonic() < until:
        time.sleep(0.05)
    assert process_start(pid) is None
    assert [v.series("x").values.tolist() for v in fanal.open(tmp_path / "r").runs.values()] == [[0.0], [1.0]]
    start(tmp_path / "r", Start(id="b")).finish()
    assert not list((tmp_path / "r").rglob("*.log"))
    assert verify(tmp_path / "r").ok


def test_one_without_work_ends_by_itself_and_another_begins_when_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import sys; from fanal.record.segments import close as c; c.IDLE_SECONDS = c.PARENT_CHECK_SECONDS = 0.01; "
    monkeypatch.setattr(closing, "RUN_AS", ("-P", "-c", code + "sys.exit(c.main([]))"))
    before, pids = set(children(os.getpid())), list[int]()
    for n in range(2):
        run = start(tmp_path / "r", Start(id=f"a{n}"))
        run.log({"x": float(n)})
        run.finish()
        (pid,) = set(children(os.getpid())) - before
        pids.append(pid)
        while process_start(pid) is not None:
            time.sleep(0.01)
    assert pids[0] != pids[1]
    assert not list((tmp_path / "r").rglob("*.log"))


def test_a_forked_child_leaves_its_parents_process_alone(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        folder = Path(sys.argv[1])
        start(folder, Start(id="first")).finish()
        run = start(folder, Start(id="second"))
        if (child := os.fork()) == 0:
            mine = start(folder, Start(id="third"))
            mine.log({"x": 3.0})
            mine.finish()
            sys.exit()
        os.waitpid(child, 0)
        run.log({"x": 2.0})
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "r").rglob("*.log"))
    assert fanal.open(tmp_path / "r").runs["third"].series("x").values.tolist() == [3.0]


def test_it_answers_in_a_process_with_very_many_open_files(tmp_path: Path) -> None:
    code = """
        import os, resource, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1500)]
        run = start(Path(sys.argv[1]), Start(id="a"))
        run.log({"x": 1.0})
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "r").rglob("*.log"))


def test_one_that_is_told_to_end_while_it_is_asked_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "RUN_AS", ("-c", "import sys; sys.stdin.read()"))  # never answers
    run = start(tmp_path / "r", Start(id="a"))
    assert run.place is not None
    asked = closing.Closing(run.place.folder)
    assert asked.start()
    assert not asked.start()
    assert asked.result() is None
    closing.stop()
    assert asked.result(wait=True) == "the closing process was told to end"
    monkeypatch.undo()
    run.log({"x": 1.0})
    run.finish()
    assert not list((tmp_path / "r").rglob("*.log"))


def test_without_handles_left_the_log_is_kept(tmp_path: Path) -> None:
    code = """
        import os, resource, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        run.log({"x": 1.0})
        limit = max(map(int, os.listdir("/proc/self/fd"))) + 2
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        held = []
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for n in range(3000):
            run.log({"x": float(n)}, n)
        run.finish()
        os._exit(0)
    """
    done = python(code, tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert "the log was kept but not closed: the closing process cannot start: Too many open files" in done.stderr
    assert len(fanal.open(tmp_path / "r").runs["a"].series("x")) >= 3000
