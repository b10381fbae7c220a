"""Events decoded exactly: tensors of every type, and which records are plain scalars."""

import struct

import numpy as np
import pytest

from fanal.importers.event_values import decode, scalar_spans, tensor
from tests.worlds.event_files import event, field, simple, tensor_scalar, varint


def shape(*sizes: int) -> bytes:
    return field(2, b"".join(field(2, b"\x08" + varint(size)) for size in sizes))


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (b"\x08\x01" + shape(2) + field(5, struct.pack("<2f", 0.5, 1.5)), [0.5, 1.5]),
        (b"\x08\x01" + shape(3) + b"\x2d" + struct.pack("<f", 0.5), [0.5, 0.5, 0.5]),
        (b"\x08\x02" + shape(1) + field(6, struct.pack("<d", 0.1)), [0.1]),
        (b"\x08\x03" + shape(2) + field(7, varint(-1) + varint(300)), [-1, 300]),
        (b"\x08\x09" + shape(1) + field(10, varint(2**62)), [2**62]),
        (b"\x08\x17" + shape(1) + field(17, varint(2**64 - 1)), [2**64 - 1]),
        (b"\x08\x0a" + shape(2) + field(11, b"\x01\x00"), [True, False]),
        (b"\x08\x0e" + shape(1) + field(13, varint(0x3FC0)), [1.5]),
        (b"\x08\x0e" + shape(1) + field(4, b"\xc0\x3f"), [1.5]),
        (b"\x08\x13" + shape(2) + field(4, np.array([0.5, np.inf], np.float16).tobytes()), [0.5, np.inf]),
    ],
)
def test_a_tensor_gives_its_numbers(data: bytes, numbers: list[float]) -> None:
    assert tensor(data).numbers == numbers


def test_a_tensor_of_an_unknown_type_is_an_error() -> None:
    with pytest.raises(ValueError, match="tensor type 99"):
        tensor(b"\x08\x63" + field(4, b"abc"))


@pytest.mark.parametrize("step", [0, 5, 300, 2**40])
def test_a_plain_scalars_parts_are_where_the_spans_say(step: int) -> None:
    for value in (simple("loss/train", 0.25), tensor_scalar("loss/train", 0.25)):
        data = event(1.5e9, step, [value])
        spans = scalar_spans(data)
        assert spans is not None
        assert data[spans.tag : spans.tag + spans.tag_bytes] == b"loss/train"
        assert struct.unpack_from("<f", data, spans.value) == (0.25,)
        assert data[spans.step : spans.step + spans.step_bytes] == (varint(step) if step else b"")
        assert len(spans.fixed) == len(data) - 8 - spans.tag_bytes - 4 - spans.step_bytes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        event(1.0, 1),
        event(1.0, 1, [simple("a", 1.0), simple("b", 2.0)]),
        event(1.0, 1, [field(1, b"a") + field(5, b"")]),
        event(1.0, -1, [simple("a", 1.0)]),
        event(1.0, 1, [simple("a", 1.0) + field(9, field(1, field(1, b"hparams")))]),
        event(1.0, 1, [field(1, b"a") + field(8, b"\x08\x01" + shape(1) + field(5, b"\0\0\0\0"))]),
        b"\x10\x01" + event(1.0, 0, [simple("a", 1.0)]),
        b"\xff" * 20,
    ],
)
def test_what_is_no_plain_scalar_has_no_spans(data: bytes) -> None:
    assert scalar_spans(data) is None


def test_an_event_says_its_step_time_and_restart() -> None:
    found = decode(event(1.25, -3, more=field(7, b"\x08\x01")))
    assert (found.wall_time, found.step, found.restarts) == (1.25, -3, True)
