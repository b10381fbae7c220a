"""The vectorised checksum equals the one computed bit by bit, at every length that takes another path."""

import numpy as np
import pytest

from fanal.importers.crc32c import checksum, checksums, masked
from tests.worlds import event_files


def test_the_published_check_value() -> None:
    assert checksum(b"123456789") == 0xE3069283


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 61, 1023, 1024, 1025, 1027, 3000])
def test_any_length_equals_the_bitwise_sum(length: int) -> None:
    data = np.random.default_rng(length).integers(0, 256, length, np.uint8).tobytes()
    assert checksum(data) == event_files.crc32c(data)


def test_many_records_at_once_equal_one_by_one() -> None:
    records = np.random.default_rng(1).integers(0, 256, (500, 57), np.uint8)
    assert checksums(records).tolist() == [event_files.crc32c(row.tobytes()) for row in records]


def test_the_mask_is_that_of_event_files() -> None:
    crc = np.array([event_files.crc32c(b"abc")], np.uint32)
    assert masked(crc).tobytes() == event_files.masked(b"abc")
