"""The last value of every key, whatever rows it came in, and after any number of different ones."""

import random

import pytest

from fanal.tracker.latest import MAX_COPIED, Latest


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_a_dict_would_hold(seed: int) -> None:
    chosen, latest, wanted = random.Random(seed), Latest(), dict[str, int]()
    for number in range(500):
        keys = chosen.sample([f"k{i}" for i in range(12)], chosen.randint(0, 6))
        row = dict.fromkeys(keys, number)
        latest.take(latest.shape(row), row)
        wanted.update(row)
        row.clear()  # the script's dict is the script's
    assert latest.values() == wanted
    assert {key: latest.value(key) for key in wanted} == wanted
    assert latest.value("none", "absent") == "absent"


def test_a_wide_row_is_kept_by_reference() -> None:
    latest, row = Latest(), {f"k{i}": i for i in range(MAX_COPIED + 1)}
    latest.take(latest.shape(row), row)
    assert latest.values() == row
