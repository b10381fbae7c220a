"""Rows of nested and other values become plain rows of one step, and none of them raises."""

import math
from typing import Any

import pytest

import fanal
from tests.tracker.conftest import read


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


def test_nested_rows_are_flat_and_their_own_step_and_time_count() -> None:
    run = begin()
    run.log({"train": {"loss": 1.0, "norm": {"grad": 0.5}}, "lr": 0.1, "_timestamp": 1700000000.5, "_runtime": 3.0})
    run.log({"a": 1, "_step": 40})
    run.log({"a": 2, "_step": 50}, step=60)
    fanal.finish()
    view = read()
    assert view.exact("train.loss") == [1.0]
    assert view.exact("train.norm.grad") == [0.5]
    assert view.series("lr").times_ns.tolist() == [1700000000500000000]
    assert view.exact("_runtime") == [3.0]
    assert view.series("a").steps.tolist() == [40, 60]


def test_two_values_that_meet_under_one_key_are_both_in_the_record() -> None:
    run = begin()
    run.log({"a": {"b": 1.0}, "a.b": 2.0, "c": 3.0})
    fanal.finish()
    assert read().exact("a.b") == [2.0]
    assert read().exact("c") == [3.0]


class Odd(dict[str, Any]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        raise RuntimeError("dictionary changed size during iteration")

    def values(self) -> Any:
        raise RuntimeError("dictionary changed size during iteration")


@pytest.mark.parametrize(
    "row",
    [
        Odd(x=1.0),
        {"nested": Odd(x=1.0)},
        {"": 1.0},
        {3: 1.0},
        {"x": object()},
        {"x": {}},
        {"x": {"y": {"$blob": "no"}}},
        {("t",): 1},
        {"x": 10**30, "y": -(2**63), "z": math.nan},
        {"\ud800": 1.0, "k" * 10_000: 2, "__proto__": 3, "../../x": 4},
        {"_timestamp": "yesterday"},
        {"_timestamp": math.inf},
        {"_step": "five"},
        {"x": [fanal, object()]},
        {},
        None,
        "text",
        5,
        [("x", 1.0)],
        {"x": {"a": 1}, "deep": {"a": {"b": {"c": {"d": None}}}}},
    ],
    ids=lambda row: repr(row)[:40],
)
def test_no_row_raises_and_the_next_one_is_there(row: Any) -> None:
    run = begin()
    run.log(row)
    run.log({"x_after": 1.0}, step=9)
    fanal.finish()
    assert read().exact("x_after") == [1.0]
