"""`fanal/optim/muon.py`: orthogonal directions, by matrix."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.muon import EXACT_QUINTIC, muon_scale, nesterov, orthogonalise
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import QUICK

CLOSE = REASSOCIATED["float32"]


def made(*sizes: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=sizes), jnp.float32)


@pytest.mark.parametrize("sizes", [(8, 8), (4, 16), (16, 4), (2, 3, 6, 5)])
def test_singular_values_come_near_one_in_five_steps(sizes: tuple[int, ...]) -> None:
    run = jax.jit(partial(orthogonalise, steps=5), compiler_options=QUICK)
    values = np.linalg.svd(np.asarray(run(made(*sizes))), compute_uv=False)
    assert values.min() > 0.3
    assert values.max() < 1.25
    assert np.median(values) > 0.7


@pytest.mark.parametrize("sizes", [(4, 6), (6, 4)])
def test_the_exact_iteration_converges_to_the_polar_factor(sizes: tuple[int, int]) -> None:
    x = made(*sizes)
    u, _, v = np.linalg.svd(np.asarray(x, np.float64), full_matrices=False)
    run = jax.jit(partial(orthogonalise, steps=25, coefficients=EXACT_QUINTIC), compiler_options=QUICK)
    assert_close(run(x), u @ v, CLOSE)


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e20, 1e37])
def test_the_size_of_the_gradient_does_not_matter(size: float) -> None:
    x = made(4, 6)
    assert_close(orthogonalise(x * size, 2), orthogonalise(x, 2), REASSOCIATED["float32"])


def test_a_zero_matrix_stays_zero() -> None:
    assert_close(orthogonalise(jnp.zeros((2, 4, 3)), 3), np.zeros((2, 4, 3), np.float32), EXACT)


def test_matrices_of_a_stack_do_not_know_of_each_other() -> None:
    stack = made(3, 4, 5)
    alone = orthogonalise(stack[1:2], 3)
    other = orthogonalise(stack.at[0].set(9.0).at[2].set(0.0), 3)[1:2]
    assert_close(other, alone, CLOSE)


def test_nesterov_looks_ahead_along_the_new_momentum() -> None:
    ahead, momentum = nesterov(jnp.array([1.0]), jnp.array([4.0]), 0.5)
    assert (float(momentum[0]), float(ahead[0])) == (3.0, 2.5)


@pytest.mark.parametrize(("sizes", "scale"), [((4, 16), 2.0), ((16, 4), 1.0), ((5, 5), 1.0)])
def test_the_scale_knows_that_matrices_are_stored_in_by_out(sizes: tuple[int, int], scale: float) -> None:
    assert muon_scale(*sizes) == scale
