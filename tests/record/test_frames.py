import math
from array import array

import pytest

from fanal.record import frames
from fanal.record.frames import Definition, Fact, Row, unpack


def test_a_definition_reads_back() -> None:
    payload = frames.pack_definition(70_000, frames.pack_names(("a", "ü\ud800", ""), "fib"))
    assert unpack(payload, 0, {}) == Definition(70_000, ("a", "ü\ud800", ""), "fib")


@pytest.mark.parametrize(("step", "since"), [(0, 0), (-1, 1), (2**31 - 1, 2**48 - 1)])
def test_a_short_row_keeps_step_time_and_values(step: int, since: int) -> None:
    values = array("d", [0.5, -0.0, math.inf]).tobytes()
    payload = frames.SHORT.pack(frames.ROW | 9 << 8, step, since & 0xFFFFFFFF, since >> 32) + values
    assert unpack(payload, 1_000, {9: 3}) == Row(9, step, 1_000 + since, values)


def test_a_row_keeps_integers_that_no_float_holds() -> None:
    payload = frames.pack_exact_row(3 << 8, 2**60, 5, [1.0, 2.0**60], [(1, {"$int": str(2**60 + 1)})])
    row = unpack(payload, 0, {3: 2})
    assert isinstance(row, Row)
    assert (row.step, row.exact) == (2**60, ((1, {"$int": str(2**60 + 1)}),))


def test_events_and_odd_values_read_back() -> None:
    assert unpack(frames.pack_event("note", None, 7, {"text": "x"}), 0, {}) == Fact("note", None, 7, {"text": "x"})
    assert unpack(frames.pack_other(4, 7, {"k": None}), 0, {}) == Fact(None, 4, 7, {"k": None})


def test_a_row_of_the_wrong_width_and_an_unknown_kind_are_refused() -> None:
    row = frames.SHORT.pack(frames.ROW | 1 << 8, 0, 0, 0) + bytes(8)
    with pytest.raises(ValueError, match="row of 2 values"):
        unpack(row, 0, {1: 2})
    with pytest.raises(KeyError):
        unpack(row, 0, {})
    with pytest.raises(ValueError, match="kind 77"):
        unpack(frames.KIND.pack(77), 0, {})
