"""The clock: seconds by part, carried on, never counted twice."""

import pytest

from fanal.train import clock
from fanal.train.clock import PARTS, Clock


def test_parts_add_up_and_earlier_attempts_are_carried_on(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 3.0, 10.0, 10.5])
    monkeypatch.setattr(clock.time, "monotonic", lambda: next(times))
    counted = Clock({"eval": 4.0})
    with counted.part("eval"):
        pass
    with counted.part("step"):
        pass
    assert counted.seconds == dict.fromkeys(PARTS, 0.0) | {"eval": 6.0, "step": 0.5}


def test_a_part_that_fails_is_counted_and_closed() -> None:
    counted = Clock()
    with pytest.raises(OSError, match="gone"), counted.part("data"):
        raise OSError("gone")
    with counted.part("step"):
        pass
    assert counted.seconds["data"] > 0


@pytest.mark.parametrize("name", ["naps", "step"])
def test_a_part_inside_a_part_or_an_unknown_one_is_our_error(name: str) -> None:
    counted = Clock()
    with counted.part("eval"), pytest.raises(AssertionError), counted.part(name):
        pass
