import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fanal.record.segments import tiles

ODD = {0: math.nan, 1: math.inf, 2: -math.inf, 3: 1e9, 4: -0.0}


def test_levels_end_with_one_bucket_and_short_groups_have_none() -> None:
    assert tiles.level_rows(4096, 0) == [16, 64, 256, 1024, 4096]
    assert tiles.level_rows(1000, 0) == [16, 64, 256, 1024]
    assert tiles.level_rows(4096, tiles.LONG_LEVEL) == [256, 1024, 4096]
    assert tiles.level_rows(255, 0) == []
    assert tiles.num_buckets(4096, 0) == 256 + 64 + 16 + 4 + 1


def test_keys_whose_values_need_a_float64_are_told_apart() -> None:
    values = np.array([[0.5, 0.1, np.nan, 1e300, np.inf, -0.0], [2.0, 0.25, 1.0, 1.0, 1.0, 1e-40]])
    values[1, 5] = np.float32(1e-40)
    assert tiles.first_levels(values).tolist() == [0, tiles.LONG_LEVEL, 0, tiles.LONG_LEVEL, 0, 0]


def group(rows: int, keys: int) -> NDArray[np.float64]:
    """Noise, some keys with values that are odd or not finite, one with nothing finite."""
    chance = np.random.default_rng(rows)
    values = chance.normal(size=(rows, keys))
    for _ in range(rows // 4):
        values[chance.integers(rows), chance.integers(0, keys, 3)] = ODD[int(chance.integers(5))]
    values[:, keys // 2] = math.nan
    return values


@pytest.mark.parametrize("rows", [256, 257, 455, 1024, 1025, 4096])
@pytest.mark.parametrize("keys", [1, 5, tiles.BLOCK_KEYS + 3])
def test_every_bucket_equals_brute_force(rows: int, keys: int) -> None:
    values = group(rows, keys)
    levels = tiles.build(values)
    widths = tiles.level_rows(rows, 0)
    assert len(levels) == len(widths)
    for level, width in zip(levels, widths, strict=True):
        for bucket in range(-(-rows // width)):
            mine = values[bucket * width : (bucket + 1) * width]
            finite = np.where(np.isfinite(mine), mine, np.nan)
            for key in {0, keys - 1, keys // 2}:
                some = finite[:, key][~np.isnan(finite[:, key])]
                assert level.nonfinite[bucket, key] == len(mine) - len(some)
                found = (level.min[bucket, key], level.max[bucket, key], level.mean[bucket, key])
                if len(some) == 0:
                    assert np.isnan(found).all()
                    continue
                assert found[:2] == (some.min(), some.max())
                assert abs(found[2] - some.mean()) <= 2**-15 * np.abs(some).max()


def test_a_sum_beyond_a_float64_still_has_a_mean_between_its_limits() -> None:
    values = np.full((300, 2), 1.5e308)
    values[128:, 1] = -1.5e308
    for level in tiles.build(values):
        assert np.isfinite(level.mean).all()
        assert (np.abs(level.mean) <= 1.5e308).all()
        assert level.nonfinite.dtype == np.int32


def test_the_mean_has_16_bits() -> None:
    (*_, last) = tiles.build(np.full((300, 1), 1 / 3))
    assert int(last.mean.view(np.uint64)[0, 0]) & ((1 << 36) - 1) == 0
    assert last.min[0, 0] == 1 / 3
