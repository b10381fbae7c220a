"""Progress on standard error: a bar, lines, or nothing."""

import io

import pytest

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
