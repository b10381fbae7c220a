import pytest

from fanal.record.segments import thrift


@pytest.mark.parametrize(
    ("value", "said"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**64 - 1, "ffffffffffffffffff01")]
)
def test_a_varint_has_seven_bits_a_byte(value: int, said: str) -> None:
    assert thrift.varint(value).hex() == said


@pytest.mark.parametrize(
    ("value", "said"), [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (-(2**63), "ffffffffffffffffff01")]
)
def test_signed_numbers_alternate(value: int, said: str) -> None:
    assert thrift.zigzag(value).hex() == said


def test_a_struct_says_how_far_the_next_field_is() -> None:
    fields = (thrift.i32(1, 5), thrift.i64(3, -1), thrift.binary(4, b"ab"), thrift.nested(12, thrift.nested(1)))
    assert thrift.struct(*fields).hex() == "150a" + "2601" + "18026162" + "8c" + "1c00" + "00" + "00"


@pytest.mark.parametrize(("num", "head"), [(0, "09"), (14, "e9"), (15, "f90f"), (200, "f9c801")])
def test_a_long_list_has_its_length_apart(num: int, head: str) -> None:
    field = thrift.listed(1, thrift.LIST, [b"\x00"] * num)
    assert field == (1, thrift.LIST, bytes.fromhex(head) + bytes(num))


def test_fields_out_of_order_are_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="in order"):
        thrift.struct(thrift.i32(2, 0), thrift.i32(1, 0))
