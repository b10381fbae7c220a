import dataclasses
import enum
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanal.record.files import line
from fanal.record.values import BlobRef, Media, decode, encode


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


def test_a_reference_to_a_blob_and_a_medium_stay_plain_and_a_users_dict_does_not() -> None:
    ref = BlobRef({"$blob": "0" * 64, "bytes": 3, "type": "x/y"})
    medium = Media({"$media": "image", "data": ref, "width": 2, "mean": math.nan})
    found = json.loads(line(encode({"m": medium, "list": [ref]})))
    assert found["m"]["data"] == ref
    assert found["m"]["$media"] == "image"
    back = decode(found)
    assert isinstance(back["list"][0], BlobRef)
    assert isinstance(back["m"], Media)
    assert isinstance(back["m"]["data"], BlobRef)
    assert math.isnan(back["m"]["mean"])
    users = {"$blob": "0" * 64}
    assert "$object" in encode(users)
    assert type(decode(encode(users))) is dict


def test_long_lists_of_plain_values_are_kept_as_they_are_and_others_are_marked() -> None:
    plain = [1, 2.5, "x", None, True] * 100
    assert encode(plain) == plain
    for odd in (math.nan, 2**60, [1]):
        found = decode(json.loads(line(encode([*plain, odd]))))
        assert str(found[-1]) == str(odd)
        assert found[:-1] == plain


def test_a_circle_and_a_mapping_that_changes_end_marked() -> None:
    class Changing(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("dictionary changed size during iteration")

    circle: list[Any] = []
    circle.append(circle)
    lossy: list[str] = []
    text = line(encode({"c": circle, "d": Changing(a=1)}, lossy))
    assert len(text) < 10_000
    assert lossy[-1] == "d"
    assert len(lossy) == 2


def test_a_key_that_has_no_faithful_form_reads_back_as_its_marked_text() -> None:
    assert decode(json.loads(json.dumps(encode([{int: 3}])))) == [
        {'{"$repr": "<class \'int\'>", "type": "builtins.type"}': 3}
    ]
