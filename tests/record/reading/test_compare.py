import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.reading.compare import differences, same

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]


def attempts(folder: Path, configs: list[dict[str, Any]]) -> None:
    for number, config in enumerate(configs):
        run = start(folder, Start(id="a", config=config, from_step=number * 10))
        run.event("code", commit=f"{number:040x}", branch="main", remote=None, files=[])
        run.finish("failed" if number == 0 else "finished", "loss too high" if number == 0 else None)


def told(folder: Path) -> list[list[str]]:
    return [[change.text for change in one.changes] for one in differences(fanal.open(folder).runs["a"])]


def test_what_was_added_removed_and_changed_is_told_with_both_values(tmp_path: Path) -> None:
    first = {"lr": 0.1, "gone": 1, "model": {"layers": 2, "norm": "rms"}, "same": [1, 2]}
    second = {"lr": 0.05, "new": None, "model": {"layers": 3, "norm": "rms"}, "same": [1, 2]}
    attempts(tmp_path / "r", [first, second])
    assert told(tmp_path / "r") == [
        [
            "~ config.lr: 0.1 -> 0.05",
            "- config.gone = 1",
            "~ config.model.layers: 2 -> 3",
            "+ config.new = None",
            f"~ code.commit: '{0:040x}' -> '{1:040x}'",
            "~ cause.cause: 'start' -> 'resume'",
            "~ cause.outcome: 'failed' -> 'finished'",
            "- cause.reason = 'loss too high'",
        ]
    ]


def test_a_difference_is_strict_json_with_values_as_the_record_writes_them(tmp_path: Path) -> None:
    attempts(tmp_path / "r", [{"x": math.inf}, {"x": 2**63 + 1}])

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    (found,) = differences(fanal.open(tmp_path / "r").runs["a"])
    change = json.loads(json.dumps(found.to_json()), parse_constant=refused)["changes"][0]
    assert (change["before"], change["after"]) == ({"$float": "Infinity"}, {"$int": "9223372036854775809"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, 2.0),
        (True, 1),
        (0.0, -0.0),
        (math.nan, OTHER_NAN),
        ("1", 1),
        ([1], [1.0]),
        ({"a": 1}, {"a": True}),
        (None, 0),
    ],
    ids=repr,
)
def test_values_of_another_type_or_other_bits_differ(one: object, other: object) -> None:
    assert not same(one, other)
    assert same(one, one)
    assert same(other, other)


def test_equal_attempts_differ_in_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        start(tmp_path / "r", Start(id="a", config={"nan": math.nan, "deep": {"x": [1, {"y": 2.0}]}})).finish()
    (found,) = differences(fanal.open(tmp_path / "r").runs["a"])
    assert [change.path for change in found.changes] == [("cause",)]


def test_a_config_that_is_gone_is_said_and_the_rest_still_compared(tmp_path: Path) -> None:
    attempts(tmp_path / "r", [{"lr": 1}, {"lr": 2}])
    for blob in (tmp_path / "r" / "blobs").iterdir():
        blob.unlink()
    (changes,) = told(tmp_path / "r")
    assert changes[0].startswith("? config: attempt 1: blob")
    assert changes[1].startswith("~ code.commit")
