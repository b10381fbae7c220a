"""Counting what is in: any number of values can be passed over, whatever the rows they stand in."""

import pytest

from fanal.importers.items import Fact, Item, Odd, Row, after, split, weight

ITEMS: list[Item] = [
    Row(0, 1, {"a": 1, "b": 2.0}),
    Fact("config", {}),
    Odd(0, 1, {"c": "x"}),
    Fact("alert", {}),
    Row(1, 2, {"a": 3}),
]


@pytest.mark.parametrize("skipped", range(7))
def test_what_follows_weighs_what_is_left(skipped: int) -> None:
    left = after(ITEMS, min(skipped, 5))
    assert sum(map(weight, left)) == 5 - min(skipped, 5)


def test_a_row_is_cut_between_its_values() -> None:
    assert after(ITEMS, 1)[0] == Row(0, 1, {"b": 2.0})
    assert after(ITEMS, 2)[0] == ITEMS[1]


def test_a_mixed_row_is_a_row_of_numbers_and_one_of_the_rest() -> None:
    assert split(3, 4, {"a": 1, "t": "x", "b": True}) == [Row(3, 4, {"a": 1, "b": True}), Odd(3, 4, {"t": "x"})]
    assert split(3, 4, {}) == []
    assert split(3, 4, {"t": None}) == [Odd(3, 4, {"t": None})]
