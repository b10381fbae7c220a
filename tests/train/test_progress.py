"""Progress on standard error: a bar, lines, or nothing."""

import io
import sys
import threading

import pytest
from tqdm import tqdm

from fanal.train import progress
from fanal.train.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_quiet_writes_nothing() -> None:
    to = Terminal()
    shown = Progress("d32", (0, 4), 100, quiet=True, to=to)
    shown.step(4, 1.0)
    shown.close()
    assert to.getvalue() == ""


def test_a_file_gets_a_line_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    to = io.StringIO()
    shown = Progress("d32", (2, 12), 100, to=to)
    for step in range(3, 13):
        now[0] += 2.0
        shown.step(step, 10 / step)
    shown.close()
    assert to.getvalue().splitlines() == [
        "d32: step 5 of 12, loss 2.000, 50 tokens/s, about 14 s left",
        "d32: step 8 of 12, loss 1.250, 50 tokens/s, about 8 s left",
        "d32: step 11 of 12, loss 0.909, 50 tokens/s, about 2 s left",
        "d32: step 12 of 12, loss 0.833, 50 tokens/s, about 0 s left",
    ]


def test_a_terminal_gets_a_bar_with_loss_pace_and_time_left() -> None:
    to = Terminal()
    shown = Progress("hero", (0, 10), 1000, to=to)
    for step in range(1, 11):
        shown.step(step, 2.5)
    shown.close()
    last = to.getvalue().split("\r")[-1]
    assert "hero" in last
    assert "10/10 steps" in last
    assert "loss 2.500" in last
    assert "tokens/s" in last
    assert "left" in last


def test_a_word_about_the_run_is_a_line_of_its_own_in_a_file_and_above_a_bar() -> None:
    for to in (io.StringIO(), Terminal()):
        shown = Progress("d32", (0, 4), 100, to=to)
        shown.say("goes on after step 3")
        shown.close()
        assert "d32: goes on after step 3\n" in to.getvalue()


class Breaking(io.StringIO):
    """Fails from the `good`-th writing on, as a pipe does whose reader has gone."""

    def __init__(self, good: int, error: Exception, terminal: bool) -> None:
        super().__init__()
        self.good, self.error, self.terminal, self.tried = good, error, terminal, 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str, /) -> int:
        self.tried += 1
        if self.tried > self.good:
            raise self.error
        return super().write(text)


def take_and_give_back_the_lock() -> None:
    with tqdm.get_lock():
        pass


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("good", [0, 1, 3])
@pytest.mark.parametrize("error", [BrokenPipeError(32, "gone"), OSError(28, "full"), ValueError("I/O on closed file")])
def test_a_stream_that_fails_is_left_alone_and_the_training_goes_on(
    terminal: bool, good: int, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    to = Breaking(good, error, terminal)
    shown = Progress("d32", (0, 9), 100, to=to)
    for step in range(1, 10):
        shown.say("a word")
        shown.step(step, 1.0)
    shown.close()
    assert to.tried == good + 1
    other = threading.Thread(target=take_and_give_back_the_lock, daemon=True)
    other.start()
    other.join(5)
    assert not other.is_alive()


def test_a_flush_that_fails_ends_the_writing_too() -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    to = Full()
    shown = Progress("d32", (0, 2), 100, to=to)
    shown.say("one")
    shown.say("two")
    assert to.getvalue() == "d32: one\n"


def test_a_stream_that_is_closed_or_absent_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        shown = Progress("d32", (0, 1), 100)
        shown.say("a word")
        shown.step(1, 1.0)
        shown.close()
