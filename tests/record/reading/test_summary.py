import math
from typing import Any

import numpy as np
import pytest

from fanal.record.events import Event
from fanal.record.reading.meaning import Metric
from fanal.record.reading.summary import Other, Points, summary_of

VALUES = np.array([3.0, math.nan, -1.0, math.inf, 2.0])
POINTS = Points(lambda key, last: (key, "last" if last else "first"), lambda key: VALUES)


def one(metric: Metric) -> Any:
    return summary_of([metric], POINTS, [], [])["x"]


@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        (Metric("x"), ("x", "last")),
        (Metric("x", summary="copy"), ("x", "last")),
        (Metric("x", summary="first"), ("x", "first")),
        (Metric("x", summary="min"), -1.0),
        (Metric("x", summary="max"), math.inf),
        (Metric("x", summary="mean"), math.inf),
        (Metric("x", summary="best"), -1.0),
        (Metric("x", summary="best", goal="maximize"), math.inf),
        (Metric("x", summary="best", better="higher"), math.inf),
    ],
)
def test_a_declared_summary_is_worked_out_without_nan(metric: Metric, wanted: object) -> None:
    assert one(metric) == wanted


def test_a_key_that_is_declared_to_have_none_has_none() -> None:
    assert summary_of([Metric("x", summary="none")], POINTS, [], []) == {}


def test_of_nothing_but_nan_every_number_is_nan() -> None:
    points = Points(lambda key, last: None, lambda key: np.array([math.nan]))
    assert math.isnan(summary_of([Metric("x", summary="max")], points, [], [])["x"])


def test_what_was_set_stands_above_numbers_and_words() -> None:
    odd = [Other("words", 1, 1, 0, 0, "early"), Other("words", 1, 2, 1, 0, "late"), Other("x", 1, 3, 1, 0, "no number")]
    said = [Event("summary", "a", 1, "w", n, 0, None, {"values": {"set": n, f"set{n}": n}}) for n in (1, 2)]
    found = summary_of([Metric("x")], POINTS, odd, said)
    assert found == {"x": ("x", "last"), "words": "late", "set": 2, "set1": 1, "set2": 2}
