"""What is said at the terminal, and a terminal that is gone."""

import io
import os
import sys
import time
from pathlib import Path

import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.notice import Notices


class Dead(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, _: str, /) -> int:
        raise BrokenPipeError


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


def test_a_reason_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    notices = Notices("d32")
    for text in ("first", "again"):
        notices.once("disk", text)
    assert capsys.readouterr().err == "fanal: d32: first\n"


@pytest.mark.parametrize("stream", [Dead(), closed(), None], ids=["dead", "closed", "none"])
def test_a_terminal_that_is_gone_does_not_end_a_run_that_has_something_to_say(
    stream: io.StringIO | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    monkeypatch.setattr(sys, "stderr", stream)
    run.log({"x": "no number"}, 0)
    run.log({"x": 1.0}, 1)
    run.finish()
    assert fanal.open(tmp_path / "r").runs["a"].series("x").steps.tolist() == [1]


def test_a_terminal_that_is_gone_does_not_end_the_thread_that_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    reached: list[float] = []

    def fail(handle: int) -> None:
        reached.append(handle)
        raise OSError(5, "the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Dead())
        patched.setattr(os, "fsync", fail)
        deadline = time.monotonic() + 10
        while len(reached) < 3 and time.monotonic() < deadline:
            run.log({"x": 1.0})
            time.sleep(0.05)
    run.finish()
    assert len(reached) >= 3
