import gzip
import io
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from fanal.record.segments import columns
from fanal.record.segments.columns import Chunk, inflate, packed, split_floats, unpacked
from fanal.record.segments.parquet import RowGroup, write_files

LENGTHS = (1, 2, 31, 32, 33, 34, 128, 129, 130, 257, 4096)


def integers(shape: str, num: int) -> NDArray[np.int64]:
    chance = np.random.default_rng(num)
    rows = {
        "even": np.arange(num) * 190,
        "times": 1_700_000_000_000_000_000 + np.cumsum(chance.integers(10**8, 2 * 10**8, num)),
        "falling": -np.cumsum(chance.integers(0, 5, num)),
        "wild": chance.integers(-(2**62), 2**62, num),
        "edges": chance.choice(np.array([2**63 - 1, -(2**63), 0]), num),
    }
    return rows[shape].astype(np.int64)


def read_back(chunk: Chunk, rows: int) -> NDArray[np.generic]:
    """What another library reads of a column."""
    (file,) = write_files(iter([RowGroup({"x": chunk}, {}, rows)]), ())
    return pq.read_table(io.BytesIO(file.data))["x"].to_numpy()


@pytest.mark.parametrize("num", LENGTHS)
@pytest.mark.parametrize("shape", ["even", "times", "falling", "wild", "edges"])
def test_packed_differences_are_read_as_they_were(shape: str, num: int) -> None:
    values = integers(shape, num)
    np.testing.assert_array_equal(unpacked(packed(values)), values)
    np.testing.assert_array_equal(read_back(columns.integers(values), num), values)


@pytest.mark.parametrize("num", LENGTHS)
def test_narrow_integers_are_read_as_they_were(num: int) -> None:
    values = np.random.default_rng(0).integers(-(2**31), 2**31, num).astype(np.int32)
    small = values % 5
    np.testing.assert_array_equal(read_back(columns.integers(small), num), small)
    np.testing.assert_array_equal(read_back(columns.plain_integers(values), num), values)


@pytest.mark.parametrize("num", LENGTHS)
def test_runs_of_integers_are_read_as_they_were(num: int) -> None:
    values = np.repeat(np.random.default_rng(0).integers(-300, 300, num), 7)[:num].astype(np.int32)
    np.testing.assert_array_equal(read_back(columns.few_integers(values), num), values)
    even = np.tile(np.array([16, 16, 16, 4], np.int32), num)
    np.testing.assert_array_equal(read_back(columns.few_integers(even), 4 * num), even)


def test_no_integers_are_packed_too() -> None:
    assert len(unpacked(packed(np.empty(0, np.int64)))) == 0


def test_equal_differences_take_no_room() -> None:
    assert len(packed(np.arange(4096) * 10)) < 32 * 8


def test_pages_of_another_block_are_refused() -> None:
    page = packed(np.arange(5))
    with pytest.raises(ValueError, match="blocks of 256 differences in 4 parts, expected 128 in 4"):
        unpacked(b"\x80\x02" + page[2:])


def test_floats_are_read_as_they_were_to_the_bit() -> None:
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324, 2.0**1000])
    assert read_back(columns.floats(odd), 6).tobytes() == odd.tobytes()
    assert columns.floats(odd).limits is None


def noise(num: int) -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(size=num).astype(np.float32).astype(np.float64)


def pattern(num: int) -> NDArray[np.float64]:
    return np.tile(np.random.default_rng(1).normal(size=50), num)[:num]


@pytest.mark.parametrize(("make", "most"), [(noise, 3.5), (pattern, 0.2), (np.zeros, 0.02)])
def test_each_page_is_compressed_in_the_way_that_suits_it(make: type, most: float) -> None:
    values = make(16_384)
    chunk = columns.floats(values)
    page = chunk.data[chunk.body :]
    np.testing.assert_array_equal(split_floats(np.frombuffer(inflate(page), np.uint8), 0, 16_384), values)
    assert len(page) / 16_384 < most
    planes = values.view(np.uint8).reshape(-1, 8).T.tobytes()
    assert len(page) <= len(gzip.compress(planes, 3)) * 1.2


def test_equal_input_gives_equal_bytes() -> None:
    assert columns.floats(noise(1000)) == columns.floats(noise(1000))


def test_keys_are_said_once_and_repeated_by_number() -> None:
    keys = [f"layer/{n}" for n in range(300)]
    chunk = columns.names([*keys, keys[0]], [5] * 301)
    assert read_back(chunk, 1505).tolist() == [k for k in [*keys, keys[0]] for _ in range(5)]
    assert chunk.limits == (b"layer/0", b"layer/99")


@pytest.mark.parametrize(("key", "shown"), [("a\ud800", "a\\ud800"), ("", ""), ("k" * 10_000, "k" * 10_000)])
def test_any_key_can_be_a_name(key: str, shown: str) -> None:
    assert read_back(columns.names([key], [2]), 2).tolist() == [shown, shown]
