"""`fanal/optim/hyperball.py`: steps that keep the norm."""

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.hyperball import fixed_norm_step, frobenius
from tests.tolerances import EXACT, REASSOCIATED, assert_close

CLOSE = REASSOCIATED["float32"]
RATE = jnp.float32(0.1)


def made(*sizes: int, seed: int = 0) -> jnp.ndarray:
    return jnp.asarray(np.random.default_rng(seed).normal(size=sizes), jnp.float32)


@pytest.mark.parametrize("sizes", [(4, 6), (3, 4, 6), (2, 3, 4, 6)])
def test_each_matrix_keeps_its_norm(sizes: tuple[int, ...]) -> None:
    w = made(*sizes) * 7
    moved = fixed_norm_step(w, made(*sizes, seed=1), RATE)
    assert_close(frobenius(moved), frobenius(w), CLOSE)
    assert not np.array_equal(moved, w)


def test_a_hundred_steps_keep_the_norm() -> None:
    w = start = made(8, 8)
    for i in range(100):
        w = fixed_norm_step(w, made(8, 8, seed=i), RATE)
    assert_close(frobenius(w), frobenius(start), CLOSE)


def test_the_step_is_a_share_of_the_norm_along_the_direction() -> None:
    w, u = jnp.array([[3.0, 0.0]]), jnp.array([[0.0, 5.0]])
    assert_close(fixed_norm_step(w, u, RATE), 3 * np.array([[1, -0.1]]) / np.sqrt(1.01), CLOSE)


def test_the_length_of_the_direction_does_not_matter() -> None:
    w, u = made(4, 6), made(4, 6, seed=1)
    assert_close(fixed_norm_step(w, 1e-6 * u, RATE), fixed_norm_step(w, u, RATE), CLOSE)


def test_a_zero_direction_leaves_the_matrix_bitwise() -> None:
    w = made(2, 4, 6)
    moved = fixed_norm_step(w, made(2, 4, 6, seed=1).at[1].set(0.0), RATE)
    assert_close(moved[1], w[1], EXACT)
    assert not np.array_equal(moved[0], w[0])


def test_a_zero_matrix_stays_zero_and_finite() -> None:
    assert_close(fixed_norm_step(jnp.zeros((4, 6)), made(4, 6), RATE), np.zeros((4, 6), np.float32), EXACT)
