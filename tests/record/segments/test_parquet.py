import io
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fanal.record.segments import columns
from fanal.record.segments.columns import inflate, split_floats
from fanal.record.segments.parquet import MAX_FILE_BYTES, RowGroup, write_files


def values_of(number: int, rows: int) -> NDArray[np.float64]:
    return np.random.default_rng(number).random(rows)


def groups(num: int, rows: int) -> Iterator[RowGroup]:
    for number in range(num):
        chunks = {
            "key": columns.names([f"k{number}"], [rows]),
            "row": columns.integers(np.arange(rows, dtype=np.int32)),
            "step": columns.integers(np.arange(rows) * 3),
            "value": columns.floats(values_of(number, rows)),
        }
        yield RowGroup(chunks, {"keys": [[0, number, number + 1, rows]]}, rows)


def read(data: bytes) -> Any:
    return pq.read_table(io.BytesIO(data))


def test_files_stay_under_a_mebibyte_and_hold_every_value() -> None:
    written = list(write_files(groups(60, 9000), ("value",)))
    assert 3 < len(written) < 8
    assert max(len(file.data) for file in written) <= MAX_FILE_BYTES
    assert min(len(file.data) for file in written[:-1]) > 0.8 * MAX_FILE_BYTES
    values = np.concatenate([read(file.data)["value"].to_numpy() for file in written])
    np.testing.assert_array_equal(values, np.concatenate([values_of(n, 9000) for n in range(60)]))


def test_the_pages_can_be_read_without_a_parquet_library() -> None:
    (file,) = write_files(groups(3, 1000), ("value", "step"))
    for number in range(3):
        pages = file.groups[number]["pages"]
        start, length = pages["value"]
        page = np.frombuffer(inflate(file.data[start : start + length]), np.uint8)
        np.testing.assert_array_equal(split_floats(page, 0, 1000), values_of(number, 1000))
        np.testing.assert_array_equal(split_floats(page, 7, 5), values_of(number, 1000)[7:12])
        start, length = pages["step"]
        steps = columns.unpacked(inflate(file.data[start : start + length]))
        np.testing.assert_array_equal(steps, np.arange(1000) * 3)


def test_every_column_is_required_and_plainly_typed() -> None:
    (file,) = write_files(groups(1, 10), ())
    assert read(file.data).schema == pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("row", pa.int32(), nullable=False),
            pa.field("step", pa.int64(), nullable=False),
            pa.field("value", pa.float64(), nullable=False),
        ]
    )


def test_nan_infinities_and_minus_zero_survive_without_statistics() -> None:
    odd = np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324])
    chunks = {"step": columns.integers(np.arange(5)), "value": columns.floats(odd)}
    (file,) = write_files(iter([RowGroup(chunks, {}, 5)]), ("value",))
    assert read(file.data)["value"].to_numpy().tobytes() == odd.tobytes()
    metadata = pq.ParquetFile(io.BytesIO(file.data)).metadata.row_group(0)
    assert metadata.column(1).statistics is None
    limits: Any = metadata.column(0).statistics
    assert (limits.min, limits.max) == (0, 4)


def test_row_groups_without_the_key_are_passed_over() -> None:
    (file,) = write_files(groups(9, 100), ())
    parquet = pq.ParquetFile(io.BytesIO(file.data))
    limits: list[Any] = [parquet.metadata.row_group(n).column(0).statistics for n in range(9)]
    assert [(one.min, one.max) for one in limits] == [(f"k{n}", f"k{n}") for n in range(9)]
    found = pq.read_table(io.BytesIO(file.data), filters=pc.field("key") == "k7")
    np.testing.assert_array_equal(found["value"].to_numpy(), values_of(7, 100))


def test_what_the_footer_says_of_bytes_is_so() -> None:
    (file,) = write_files(groups(2, 1000), ())
    metadata = pq.ParquetFile(io.BytesIO(file.data)).metadata
    chunks = [metadata.row_group(g).column(c) for g in range(2) for c in range(4)]
    footer = int.from_bytes(file.data[-8:-4], "little") + 8
    assert sum(chunk.total_compressed_size for chunk in chunks) == len(file.data) - footer - 4
    assert metadata.num_rows == 2000
    assert metadata.created_by == "fanal"


def test_equal_input_gives_equal_bytes() -> None:
    assert list(write_files(groups(3, 500), ("value",))) == list(write_files(groups(3, 500), ("value",)))
