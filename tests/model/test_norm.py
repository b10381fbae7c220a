"""`fanal/model/norm.py`."""

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.norm import rms_norm, wide
from tests.tolerances import EXACT, REASSOCIATED, assert_close


def test_a_vector_is_divided_by_its_root_mean_square_and_weighted() -> None:
    x, weight = jnp.array([[3.0, -4.0]]), jnp.array([1.0, 2.0])
    expected = np.array([[3.0, -8.0]]) / np.sqrt(12.5)
    assert_close(rms_norm(x, weight, 0.0), expected, REASSOCIATED["float32"])


def test_without_weights_it_equals_weights_of_one() -> None:
    x = jnp.linspace(-1.0, 2.0, 24).reshape(2, 3, 4)
    assert_close(rms_norm(x, None, 1e-6), rms_norm(x, jnp.ones(4), 1e-6), EXACT)


def test_a_zero_vector_stays_zero() -> None:
    assert_close(rms_norm(jnp.zeros((1, 4)), None, 1e-6), np.zeros((1, 4), np.float32), EXACT)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_the_size_of_the_input_does_not_matter_beside_eps(size: float) -> None:
    x = jnp.array([[1.0, 2.0, -3.0]])
    assert_close(rms_norm(x * size, None, 0.0), rms_norm(x, None, 0.0), REASSOCIATED["float32"])


def test_bfloat16_keeps_its_dtype_and_sums_in_float32() -> None:
    x = jnp.full((1, 4096), 0.01, jnp.bfloat16)
    y = rms_norm(x, jnp.ones(4096), 0.0)
    assert y.dtype == jnp.bfloat16
    assert float(y[0, 0]) == 1.0
    assert wide(jnp.bfloat16) == jnp.float32
    assert wide(jnp.float64) == jnp.float64
