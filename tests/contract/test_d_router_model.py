"""Class D, one device: mixing weights, the balancing bias, padding and empty experts."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.campaign.derived import ModelShape
from fanal.model.experts import Experts, assign_slots, mix_experts
from fanal.model.router import Routing, mixing_weights, route
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import QUICK, SHAPE


@partial(jax.jit, static_argnames="shape")
def routed(logits_TE: jax.Array, bias_E: jax.Array, shape: ModelShape) -> Routing:
    """A router whose logits are the tokens themselves."""
    return route(logits_TE, jnp.eye(3), bias_E, jnp.ones(len(logits_TE), bool), shape)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("softmax_then_chosen", (0.6652, 0.2447)),
        ("softmax_of_chosen", (0.7311, 0.2689)),
        ("sigmoid_renormalised", (0.5464, 0.4536)),  # σ(2) = .8808, σ(1) = .7311, over their sum
    ],
)
def test_d6_each_convention_of_mixing_weights_gives_its_own_numbers(kind: str, expected: tuple[float, float]) -> None:
    logits = jnp.array([[2.0, 1.0, 0.0]])
    shape = replace(SHAPE, router_weights=kind, router_weight_sum=1.0)
    found = routed(logits, jnp.zeros(3), shape)
    assert found.chosen_TA.tolist() == [[0, 1]]
    assert found.weights_TA[0].tolist() == pytest.approx(expected, abs=1e-4)


def test_d7_the_bias_chooses_and_does_not_weigh() -> None:
    shape = replace(SHAPE, experts_per_token=1, router_weight_sum=1.0, router_weights="softmax_then_chosen")
    scores, bias = jnp.array([[0.5, 0.4, 0.1]]), jnp.array([0.0, 0.0, 1.0])
    assert routed(scores, bias, shape).chosen_TA.tolist() == [[2]]
    found = routed(jnp.log(scores), 2 * bias, shape)  # log .1 + 2 is above log .5
    assert found.chosen_TA.tolist() == [[2]]
    assert float(found.weights_TA[0, 0]) == pytest.approx(0.1, rel=1e-6)
    assert float(mixing_weights(jnp.log(scores + bias[None]), jnp.array([[2]]), "softmax_then_chosen")[0, 0]) > 0.5


def test_d7_no_gradient_reaches_the_bias() -> None:
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(16, 3)), jnp.float32)
    shape = replace(SHAPE, experts_per_token=2)

    def total(bias_E: jax.Array) -> jax.Array:
        found = routed(logits, bias_E, shape)
        return jnp.sum(found.weights_TA[:, 0]) + jnp.sum(jnp.square(found.next_bias_E))

    assert_close(jax.jit(jax.grad(total))(jnp.zeros(3)), np.zeros(3, np.float32), EXACT)


def made_experts() -> Experts:
    rng = np.random.default_rng(0)
    gate, up, down = (jnp.asarray(rng.normal(size=(4, 3, 3)), jnp.float32) for _ in range(3))
    return Experts(gate, up, down)


@partial(jax.jit, static_argnames="capacity")
def mixed(x_TM: jax.Array, valid_T: jax.Array, capacity: int, experts: Experts) -> jax.Array:
    """All tokens sent to expert 0."""
    chosen = jnp.zeros((len(x_TM), 1), jnp.int32)
    slots = assign_slots(chosen, valid_T, 4, capacity)
    return mix_experts(x_TM, jnp.ones((len(x_TM), 1)), slots, experts)


def test_d8_padding_takes_no_capacity_from_real_tokens() -> None:
    x, experts = jnp.arange(12.0).reshape(4, 3) / 7, made_experts()
    padded = mixed(x, jnp.array([False, False, True, True]), 2, experts)
    alone = mixed(x[2:], jnp.ones(2, bool), 2, experts)
    assert_close(padded[2:], alone, REASSOCIATED["float32"])
    assert alone.any(axis=1).all()
    assert_close(padded[:2], np.zeros((2, 3), np.float32), EXACT)


def test_d9_experts_without_tokens_have_gradients_of_exactly_zero_two_steps_in_a_row() -> None:
    x = jnp.asarray(np.random.default_rng(1).normal(size=(8, 3)), jnp.float32)

    @partial(jax.jit, compiler_options=QUICK)
    def gradient(experts: Experts) -> Experts:
        return jax.grad(lambda e: jnp.sum(jnp.square(mixed(x, jnp.ones(8, bool), 8, e))))(experts)

    experts = made_experts()
    for _ in range(2):
        grads = gradient(experts)
        for leaf in jax.tree.leaves(grads):
            assert np.isfinite(leaf).all()
            assert leaf[0].any()
            assert_close(leaf[1:], np.zeros((3, 3, 3), np.float32), EXACT)
        experts = jax.tree.map(lambda w, g: w - 0.01 * g, experts, grads)
