import dataclasses
import enum
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanal.record.files import line
from fanal.record.values import decode, encode


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: tuple[float, ...]


@pytest.mark.parametrize(
    "value",
    [0, 2.0, 2, True, None, "", "NaN", math.inf, -math.inf, -0.0, 0.00018805814126031094, 2**53 + 1, -(10**30)],
)
def test_values_read_back_with_their_types(value: Any) -> None:
    check(value)


@pytest.mark.parametrize(
    "value",
    [{"s": "NaN", "lr": math.inf}, {3: "int key", "3": "text key"}, {"$float": "NaN"}, {"$a": {"$b": 1}}, [[]], {}],
)
def test_structures_read_back_with_their_types(value: Any) -> None:
    check(value)


def check(value: Any) -> None:
    back = decode(json.loads(line(encode(value))))
    assert back == value
    assert repr(back) == repr(value)


def test_nan_reads_back() -> None:
    assert math.isnan(decode(json.loads(line(encode({"x": math.nan}))))["x"])


def test_structures_become_their_content() -> None:
    found = decode(encode({"c": Colour.RED, "p": Path("x/y"), "d": Point(1, (0.5, math.nan)), "a": np.arange(3)}))
    assert found["c"] == "red"
    assert found["p"] == "x/y"
    assert found["d"]["x"] == 1
    assert math.isnan(found["d"]["y"][1])
    assert found["a"] == [0, 1, 2]


def test_what_has_no_faithful_form_is_marked_and_named() -> None:
    lossy: list[str] = []
    found = encode({"f": {"g": object}, "h": [1, len]}, lossy)
    assert "$repr" in found["f"]["g"]
    assert lossy == ["f.g", "h[1]"]


def test_a_hostile_object_does_not_get_out() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert encode(Hostile())["$repr"].startswith("<")


def test_a_lone_surrogate_survives() -> None:
    assert decode(json.loads(line(encode({"\ud800": "\udfff"})))) == {"\ud800": "\udfff"}


def test_an_integer_too_long_to_print_survives() -> None:
    assert decode(json.loads(line(encode([10**5000, -(10**5000)])))) == [10**5000, -(10**5000)]
