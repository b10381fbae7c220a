import pytest

from fanal.record.events import Event
from fanal.record.reading.meaning import Metric, matches, meaning


@pytest.mark.parametrize(
    ("pattern", "key", "does"),
    [
        ("loss", "loss", True),
        ("loss", "train/loss", False),
        ("*/loss", "train/loss", True),
        ("eval/*", "eval/pulse/macro", True),
        ("*", "", True),
        ("Loss", "loss", False),
        ("[train] x*", "[train] x*", True),
        ("e[0-9]", "e7", True),
    ],
)
def test_a_pattern_means_itself_and_what_it_matches(pattern: str, key: str, does: bool) -> None:
    assert matches(pattern, key) is does


def said(**fields: object) -> Event:
    return Event("metric", "a", 1, "w", 1, 0, None, fields)


def test_the_later_counts_and_null_says_nothing() -> None:
    events = [said(pattern="x", text="first", unit="s", hidden=True), said(pattern="*", text="second", unit=None)]
    assert meaning("x", events) == Metric("x", text="second", unit="s", hidden=True)
    assert meaning("y", events) == Metric("y", text="second")


def test_false_is_something_said() -> None:
    assert meaning("x", [said(pattern="x", hidden=True), said(pattern="x", hidden=False)]).hidden is False


def test_fanals_own_keys_mean_something_without_events() -> None:
    metric = meaning("train/loss", [])
    assert (metric.unit, metric.better, metric.lower_is_better) == ("nats per token", "lower", True)
    assert metric.text


@pytest.mark.parametrize(
    ("better", "goal", "lower"),
    [
        ("lower", None, True),
        ("higher", None, False),
        ("lower", "maximize", False),
        (None, "minimize", True),
        (None,) * 3,
    ],
)
def test_a_goal_counts_before_what_is_better(better: str | None, goal: str | None, lower: bool | None) -> None:
    assert meaning("x", [said(pattern="x", better=better, goal=goal)]).lower_is_better is lower
