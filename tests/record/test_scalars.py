from collections import UserDict
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from fanal.record.scalars import as_number, on_host


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1.5, 1.5),
        (True, True),
        (7, 7),
        (np.float16(0.5), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.longdouble(0.25), 0.25),
        (np.int64(2**62), 2**62),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True),
        (np.array(0.25), 0.25),
        (np.array([3]), 3),
        (ml_dtypes.bfloat16(1.5), 1.5),
        (ml_dtypes.float8_e4m3fn(2.0), 2.0),
        (jnp.float32(0.5), 0.5),
        (jnp.array(2, jnp.int8), 2),
        (jnp.array(0.5, jnp.bfloat16), 0.5),
    ],
)
def test_a_number_of_any_library_becomes_pythons_with_its_type(value: Any, wanted: float) -> None:
    found = as_number(value)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    "value", ["1", None, [1.0], {}, np.arange(3), 1j, np.complex64(1), np.datetime64("2020-01-01")]
)
def test_what_is_no_single_number_is_none(value: Any) -> None:
    assert as_number(value) is None


def test_negative_zero_keeps_its_sign() -> None:
    for value in (-0.0, np.float32(-0.0), np.float16(-0.0), jnp.float32(-0.0), ml_dtypes.bfloat16(-0.0)):
        assert str(as_number(value)) == "-0.0"


def test_the_jax_arrays_of_a_row_come_in_one_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    fetch = jax.device_get
    monkeypatch.setattr(jax, "device_get", lambda values: (calls.append(len(values)), fetch(values))[1])
    values = (1.0, jnp.float32(2.0), "text", jnp.array(3), jnp.arange(4))
    found = on_host(values)
    assert calls == [3]
    assert [as_number(value) for value in found[:2]] == [1.0, 2.0]
    assert as_number(found[3]) == 3
    assert found[4].tolist() == [0, 1, 2, 3]
    assert on_host((1.0, "text")) == (1.0, "text")
    assert calls == [3]


def test_an_array_that_was_deleted_is_asked_alone_and_raises_nothing() -> None:
    gone = jnp.arange(3.0)
    gone.delete()
    found = on_host((jnp.float32(1.0), gone))
    assert as_number(found[0]) == 1.0
    assert as_number(found[1]) is None


def test_a_hostile_item_is_no_number() -> None:
    class Hostile(UserDict[str, int]):
        def item(self) -> float:
            raise LookupError("no")

    assert as_number(Hostile()) is None
