"""Wall times: the unit told by size, zones honoured, none taken for UTC, and what is no time left alone."""

import math

import pytest

from fanal.importers.times import from_number, from_seconds, wall_time

SECOND = 1_700_000_000


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("kind", [int, float])
def test_the_unit_is_told_by_the_size(unit: int, kind: type) -> None:
    assert from_number(kind(SECOND * unit)) == SECOND * 10**9


@pytest.mark.parametrize("number", [0, 3.5, 1000, 99_999_999, -SECOND, math.nan, math.inf, 10**21])
def test_what_is_no_wall_time_is_none(number: float) -> None:
    assert from_number(number) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2023-11-14T22:13:20Z", (SECOND * 10**9, False)),
        ("2023-11-15T03:43:20+05:30", (SECOND * 10**9, False)),
        ("2023-11-14 22:13:20", (SECOND * 10**9, True)),
        ("2023-11-14 22:13:20 UTC", (SECOND * 10**9, False)),
        ("2023-11-14T22:13:20.000001", (SECOND * 10**9 + 1000, True)),
        ("2023-11-14", ((SECOND - 80_000) * 10**9, True)),
        ("soon", None),
        ("2023-13-01 00:00:00", None),
        (True, None),
        (None, None),
    ],
)
def test_text_is_iso_8601(text: object, found: tuple[int, bool] | None) -> None:
    assert wall_time(text) == found


def test_seconds_come_back_to_the_bit() -> None:
    value = math.nextafter(1.7e9, 2e9)
    for _ in range(1000):
        value = math.nextafter(value, 2e9)
        seconds, rest = divmod(from_seconds(value), 10**9)
        assert seconds + rest / 1e9 == value
    assert from_seconds(math.nan) == 0
