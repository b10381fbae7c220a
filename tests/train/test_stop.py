"""Stopping: the first signal is a wish, the second Ctrl-C an order."""

import os
import signal

import pytest

from fanal.train.stop import StopFlag, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_flag_and_interrupts_nothing(number: signal.Signals) -> None:
    with stop_on_signals() as stop:
        assert not stop
        os.kill(os.getpid(), number)
        assert stop
        assert stop.reason == number.name


def test_the_second_ctrl_c_interrupts() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.reason == "SIGINT"


def test_the_former_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_the_first_reason_stays() -> None:
    stop = StopFlag()
    stop.set("first")
    stop.set("second")
    assert stop.reason == "first"
