"""Series as charts take them: nothing hidden, nothing that is not finite."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanal.page.series import bucket_means, envelope, last_finite, points
from fanal.record.reading.read import Series

MANY = st.lists(st.one_of(st.floats(-10, 10), st.sampled_from([math.nan, math.inf, -math.inf, 1e308])), max_size=300)


def series(values: list[float] | np.ndarray, first: int = 0) -> Series:
    steps = np.arange(first, first + len(values), dtype=np.int64)
    columns = {f.name: steps for f in fields(Series) if f.name not in ("values", "num_overwritten", "num_superseded")}
    return Series(**columns, values=np.array(values, np.float64))


@given(MANY, st.integers(1, 60))
def test_an_envelope_hides_no_extreme_and_no_value_that_is_not_finite(values: list[float], max_buckets: int) -> None:
    made = envelope(series(values), max(1, len(values)), max_buckets)
    finite = [v for v in values if math.isfinite(v)]
    lows, highs = ([v for v in side if v is not None] for side in (made.low, made.high))
    assert len(made.progress) <= max_buckets
    assert made.rows == len(values)
    assert sum(m.count for m in made.marks) == len(values) - len(finite)
    if finite:
        assert min(lows) == pytest.approx(min(finite), rel=1e-5)
        assert max(highs) == pytest.approx(max(finite), rel=1e-5)
    for low, mean, high in zip(made.low, made.mean, made.high, strict=True):
        if low is not None and mean is not None and high is not None:
            slack = 1e-5 * max(1.0, abs(low), abs(high))
            assert low - slack <= mean <= high + slack


def test_a_spike_of_one_row_in_a_million_is_in_its_bucket() -> None:
    values = np.ones(1_000_000)
    values[654_321] = 99.0
    made = envelope(series(values), len(values))
    (bucket,) = [i for i, v in enumerate(made.high) if v == 99.0]
    assert bucket == 654_321 // made.bucket_steps
    assert len(made.high) == 500


def test_buckets_stand_still_while_a_run_grows() -> None:
    whole = envelope(series([float(i % 7) for i in range(100)]), 1000, 50)
    half = envelope(series([float(i % 7) for i in range(60)]), 1000, 50)
    assert half.progress == whole.progress[:3]
    assert half.low == whole.low[:3]


def test_points_that_are_not_finite_are_null_beside_a_mark_of_their_kind() -> None:
    made = points(series([1.0, math.nan, math.inf, -math.inf, 2.0]), 4)
    assert made.value == [1.0, None, None, None, 2.0]
    assert [(m.step, m.kind, m.count) for m in made.marks] == [(1, "NaN", 1), (2, "Infinity", 1), (3, "−Infinity", 1)]
    assert made.progress == [0, 0.25, 0.5, 0.75, 1.0]


def test_the_mean_of_huge_values_does_not_overflow() -> None:
    assert envelope(series([1.5e308, 1.5e308]), 1, 1).mean == [1.5e308]


def test_a_map_leaves_out_what_is_not_there() -> None:
    assert bucket_means(series([2.0, 4.0, math.nan, math.nan], first=3), 2, 4) == [None, 3.0, None, None]


def test_the_newest_finite_value_is_found_behind_others() -> None:
    assert last_finite(series([1.0, 2.0, math.nan])) == 2.0
    assert last_finite(series([math.nan])) is None
    assert last_finite(None) is None
