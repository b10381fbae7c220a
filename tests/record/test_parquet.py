import io
import math
from collections.abc import Iterator

import numpy as np
import pyarrow.parquet as pq

from fanal.record.parquet import MAX_FILE_BYTES, RowGroup, inflate, key_column, split_floats, write_files


def groups(num: int, rows: int) -> Iterator[RowGroup]:
    chance = np.random.default_rng(0)
    for number in range(num):
        columns = {
            "key": key_column([f"k{number}"], [rows]),
            "row": np.arange(rows, dtype=np.int32),
            "step": np.arange(rows) * 3,
            "value": chance.random(rows),
        }
        yield RowGroup(columns, {"keys": [[0, number, number + 1, rows]]}, rows)


def test_files_stay_under_a_mebibyte_and_hold_every_value() -> None:
    written = list(write_files(groups(12, 60_000), ("value",)))
    assert len(written) > 3
    assert max(len(file.data) for file in written) <= MAX_FILE_BYTES
    values = np.concatenate([pq.read_table(io.BytesIO(file.data))["value"].to_numpy() for file in written])
    wanted = np.concatenate([group.columns["value"] for group in groups(12, 60_000)])
    np.testing.assert_array_equal(values, wanted)


def test_the_pages_can_be_read_without_a_parquet_library() -> None:
    (file,) = write_files(groups(3, 1000), ("value",))
    for number, group in enumerate(groups(3, 1000)):
        start, length = file.groups[number]["pages"]["value"]
        page = inflate(file.data[start : start + length])
        np.testing.assert_array_equal(split_floats(page, 0, 1000), group.columns["value"])
        np.testing.assert_array_equal(split_floats(page, 7, 5), group.columns["value"][7:12])


def test_nan_infinities_and_minus_zero_survive_without_statistics() -> None:
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324])
    columns = {"key": key_column(["k"], [5]), "row": np.arange(5, dtype=np.int32), "step": np.arange(5), "value": odd}
    (file,) = write_files(iter([RowGroup(columns, {}, 5)]), ("value",))
    back = pq.read_table(io.BytesIO(file.data))["value"].to_numpy()
    assert back.tobytes() == odd.tobytes()
    chunk = pq.ParquetFile(io.BytesIO(file.data)).metadata.row_group(0)
    assert chunk.column(3).statistics is None
    assert chunk.column(2).statistics.max == 4


def test_a_key_that_utf8_cannot_say_is_escaped() -> None:
    assert key_column(["a\ud800"], [2]).to_pylist() == ["a\\ud800"] * 2
