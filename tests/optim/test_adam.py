"""`fanal/optim/adam.py`: directions and moments by hand."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.adam import AdamMoments, adam_direction
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import OPTIMIZER

CLOSE = REASSOCIATED["float32"]
ZERO = AdamMoments(jnp.zeros(3), jnp.zeros(3))


def test_the_first_direction_is_the_gradients_sign() -> None:
    direction, _ = adam_direction(jnp.array([1e-3, -5.0, 2.0]), ZERO, jnp.float32(1), OPTIMIZER)
    assert_close(direction, np.array([1.0, -1.0, 1.0]), CLOSE)


def test_two_updates_are_those_of_the_algorithm() -> None:
    plan = replace(OPTIMIZER, beta1=0.5, beta2=0.75, adam_eps=0.1)
    first, moments = adam_direction(jnp.array([2.0]), AdamMoments(jnp.zeros(1), jnp.zeros(1)), jnp.float32(1), plan)
    second, moments = adam_direction(jnp.array([-4.0]), moments, jnp.float32(2), plan)
    assert_close(first, np.array([2 / 2.1]), CLOSE)
    assert_close(moments.first, np.array([0.5 * 1.0 - 2.0]), CLOSE)
    assert_close(moments.second, np.array([0.75 * 1.0 + 4.0]), CLOSE)
    assert_close(second, np.array([-1.5 / 0.75 / (np.sqrt(4.75 / 0.4375) + 0.1)]), CLOSE)


def test_a_parameter_without_gradient_has_direction_zero_at_any_eps() -> None:
    direction, _ = adam_direction(jnp.zeros(3), ZERO, jnp.float32(1), replace(OPTIMIZER, adam_eps=1e-17))
    assert_close(direction, np.zeros(3, np.float32), EXACT)


@pytest.mark.parametrize("update", [1, 10, 10_000])
def test_a_constant_gradient_has_direction_one_at_every_update(update: int) -> None:
    beta1, beta2 = OPTIMIZER.beta1, OPTIMIZER.beta2
    moments = AdamMoments(
        jnp.full(3, 0.5 * (1 - beta1 ** (update - 1)), jnp.float32),
        jnp.full(3, 0.25 * (1 - beta2 ** (update - 1)), jnp.float32),
    )
    direction, _ = adam_direction(jnp.full(3, 0.5), moments, jnp.float32(update), OPTIMIZER)
    assert_close(direction, np.ones(3), CLOSE)
