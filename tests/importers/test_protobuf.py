"""Messages walked by hand: every wire type, and what is no message is an error and never a wrong value."""

import struct

import pytest

from fanal.importers import protobuf
from fanal.importers.protobuf import fields, signed, varints
from tests.worlds.event_files import field, varint


def test_every_wire_type_comes_back() -> None:
    data = (
        b"\x08" + varint(300) + b"\x11" + struct.pack("<d", 0.1) + field(3, b"abc") + b"\x25" + struct.pack("<f", 0.5)
    )
    found = dict(fields(data))
    assert (found[1], protobuf.float64(found[2]), found[3], protobuf.float32(found[4])) == (300, 0.1, b"abc", 0.5)


@pytest.mark.parametrize("number", [0, 1, -1, 2**31, -(2**63), 2**63 - 1])
def test_signed_numbers_come_back(number: int) -> None:
    assert signed(dict(fields(b"\x08" + varint(number)))[1]) == number


def test_numbers_of_fields_above_15_and_packed_ones_come_back() -> None:
    assert dict(fields(field(1000, b"x"))) == {1000: b"x"}
    assert varints(varint(1) + varint(300) + varint(2**63)) == [1, 300, 2**63]


@pytest.mark.parametrize("data", [b"\x08", b"\x08\xff", b"\x0a\x05ab", b"\x09\x00", b"\x0b", b"\x08" + b"\xff" * 11])
def test_what_is_cut_or_no_message_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="byte"):
        list(fields(data))


def test_a_value_of_the_other_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="number should"):
        protobuf.integer(b"x")
    with pytest.raises(ValueError, match="bytes should"):
        protobuf.message(3)
    assert protobuf.text(b"\xff") == "\ufffd"
