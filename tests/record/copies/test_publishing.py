"""Starting a publisher from a training: nothing heavy, a place for its words, one at a time."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fanal.record.copies.publishing
from fanal.errors import RefusedError
from fanal.record.copies.publishing import alone, check_dest, command, state_file, work_of
from fanal.record.copies.publishing import start as start_publisher


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_command_names_the_record_from_the_root_and_the_destination_as_given() -> None:
    wanted = command(Path("record"), "s3://bucket/run")
    assert wanted == [
        sys.executable,
        "-P",
        "-m",
        "fanal.page.publisher",
        str(Path("record").absolute()),
        "s3://bucket/run",
    ]


def test_its_words_and_its_lock_are_with_the_users_state_and_not_in_the_record(tmp_path: Path) -> None:
    work = work_of(tmp_path / "record", "site")
    assert state_file(work).parent == tmp_path / "state" / "fanal"
    assert state_file(work) != state_file(work_of(tmp_path / "record", "other"))


def test_one_place_is_one_work_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "record"
    assert work_of(record, "site") == work_of(record, str(tmp_path / "site")) == work_of(record, "./other/../site/")
    assert work_of(record, "s3://bucket/run") == work_of(record, "s3://bucket//run/")
    assert work_of(record, "s3://bucket/run") != work_of(record, "s3://bucket/Run")
    assert work_of(record, "s3://bucket/run") != work_of(record, "gs://bucket/run")


@pytest.mark.parametrize(
    ("dest", "words"),
    [
        ("foo://x", "of a kind that cannot be published to: give a folder, or s3://"),
        ("https://host/x", "of a kind that cannot be published to"),
        (5, "publish=5 names no place to publish to"),
        ("", "names no place to publish to"),
        ("s3://", "names no bucket: write s3://BUCKET/PREFIX"),
        ("az:///x", "names no bucket: write az://CONTAINER/PREFIX"),
        (__file__, "is a file"),
    ],
)
def test_what_is_no_place_is_refused_before_a_process_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dest: Any, words: str
) -> None:
    monkeypatch.setattr(
        fanal.record.copies.publishing.subprocess, "Popen", lambda *_, **__: pytest.fail("it was started")
    )
    work_of(tmp_path / "record", dest)
    with pytest.raises(ValueError, match=re.escape(words)):
        start_publisher(tmp_path / "record", dest)


def test_folders_and_buckets_are_places(tmp_path: Path) -> None:
    for dest in (str(tmp_path), "new/site", "s3://bucket", "gs://bucket/run", "az://container/run"):
        check_dest(dest)


def test_one_process_does_a_work_at_a_time_and_its_end_gives_it_back(tmp_path: Path) -> None:
    code = "import time; from fanal.record.copies.publishing import alone"
    code += "\nwith alone('a work'): print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        with pytest.raises(RefusedError, match="another process is there to a work"), alone("a work"):
            pass
        with alone("another work"):
            pass
        other.kill()
    with alone("a work"):
        pass


def test_it_is_started_in_a_session_of_its_own_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os, sys; print(os.getsid(0) == os.getpid(), os.getppid(), flush=True)"
    monkeypatch.setattr(fanal.record.copies.publishing, "command", lambda record, dest: [sys.executable, "-c", code])
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*arguments: object, **named: object) -> "subprocess.Popen[bytes]":
        started.append(popen(*arguments, **named))  # pyright: ignore[reportCallIssue, reportArgumentType]
        return started[-1]

    monkeypatch.setattr(fanal.record.copies.publishing.subprocess, "Popen", noted)
    words = start_publisher(tmp_path / "record", "site")
    started[0].wait(30)
    assert words.read_text().split()[0] == "True"
    assert words.parent == tmp_path / "state" / "fanal"


def test_a_training_loads_nothing_heavy_for_it() -> None:
    heavy = ("numpy", "pyarrow", "cryptography", "obstore", "starlette", "fanal.page")
    code = f"import sys, fanal.record.copies.publishing; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
