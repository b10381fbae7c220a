"""The lock that needs no `flock`: one holder at a time, among threads and processes, and after a holder was killed."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fanal.record import lock
from fanal.record.lock import held

COUNT = """
import sys
from pathlib import Path
from fanal.record.lock import held
folder = Path(sys.argv[1])
for _ in range(40):
    with held(folder, "count"):
        number = int((folder / "number").read_text())
        (folder / "number").write_text(str(number + 1))
"""
DIE = """
import os, sys
from pathlib import Path
from fanal.record import lock
left = int(sys.argv[2])
def dying(function):
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return function(*arguments, **named)
    return call
for name in ("mkdir", "open", "unlink", "rmdir"):
    setattr(os, name, dying(getattr(os, name)))
with lock.held(Path(sys.argv[1]), "x"):
    pass
os._exit(0)
"""


def run(code: str, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", code, *arguments])


def test_processes_and_threads_take_turns_where_there_is_no_flock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", None)
    (tmp_path / "number").write_text("0")

    def count() -> None:
        for _ in range(40):
            with held(tmp_path, "count"):
                (tmp_path / "number").write_text(str(int((tmp_path / "number").read_text()) + 1))

    others = [run(COUNT, str(tmp_path)) for _ in range(4)]
    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0] * 4
    assert (tmp_path / "number").read_text() == str(7 * 40)
    assert [path.name for path in tmp_path.iterdir()] == ["number"]


def test_a_holder_killed_at_any_call_hinders_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "EMPTY_SECONDS", 0.05)
    call = 0
    while True:
        call += 1
        code = run(DIE, str(tmp_path), str(call)).wait()
        with held(tmp_path, "x"):
            (tmp_path / "mine").touch()
        assert [path.name for path in tmp_path.iterdir()] == ["mine"], call
        if code == 0:
            break
        assert code == 9
    assert call > 4


def test_a_holder_elsewhere_counts_as_gone_only_after_it_was_silent_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "SILENT_SECONDS", 0.3)
    (tmp_path / ".tmp-lock-x").mkdir()
    (tmp_path / ".tmp-lock-x" / f"{'0' * 16}-1-2-abc").touch()
    began = time.monotonic()
    with held(tmp_path, "x"):
        assert time.monotonic() - began >= 0.3


def test_who_waits_too_long_for_a_living_holder_is_told_which_process_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LONGEST_HELD_SECONDS", 0.1)
    with held(tmp_path, "x"):
        said = f"-{os.getpid()}-.* for too long: end that process"
        with pytest.raises(TimeoutError, match=said), held(tmp_path, "x"):
            pass
        with held(tmp_path, "another"):
            pass


def test_a_lock_that_was_taken_over_is_not_given_back_by_the_first(tmp_path: Path) -> None:
    folder = tmp_path / ".tmp-lock-x"
    with held(tmp_path, "x"):
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "00-1-2-0a").touch()
    assert [path.name for path in folder.iterdir()] == ["00-1-2-0a"]


def test_what_a_network_file_system_keeps_of_a_removed_file_is_no_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "EMPTY_SECONDS", 0.02)
    monkeypatch.setattr(lock, "LONGEST_HELD_SECONDS", 0.2)
    left = tmp_path / ".tmp-lock-x" / ".nfs0000001"
    left.parent.mkdir()
    left.touch()
    with pytest.raises(TimeoutError, match="is held by nobody known"), held(tmp_path, "x"):
        pass
    left.unlink()
    with held(tmp_path, "x"):
        pass


def test_an_error_inside_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), held(tmp_path, "x"):
        raise KeyError("x")
    assert not list(tmp_path.iterdir())
