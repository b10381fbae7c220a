"""`fanal/model/router.py`: choice, weights and the bias that balances."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanal.model.router import Routing, balanced_bias, mixing_weights, order_statistic, route
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import QUICK, SHAPE

CLOSE = REASSOCIATED["float32"]
TOKENS = 64


def logits_world(skew: float = 2.0) -> jax.Array:
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=(TOKENS, 8)) + skew * rng.normal(size=8), jnp.float32)


@partial(jax.jit, compiler_options=QUICK)
def routed(logits_TE: jax.Array, bias_E: jax.Array, valid_T: jax.Array | None = None) -> Routing:
    valid_T = jnp.ones(len(logits_TE), bool) if valid_T is None else valid_T
    return route(logits_TE, jnp.eye(8), bias_E, valid_T, replace(SHAPE, hidden=8))


def test_the_largest_biased_logits_are_chosen_and_ties_go_to_the_lower_number() -> None:
    logits = jnp.array([[3.0, 1.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]])
    assert routed(logits, jnp.zeros(8)).chosen_TA.tolist() == [[0, 2]]
    assert routed(logits, jnp.zeros(8).at[4].set(9.0)).chosen_TA.tolist() == [[4, 0]]


def test_weights_come_from_unbiased_logits_and_add_up_to_the_shapes_sum() -> None:
    logits = logits_world()
    bias = jnp.linspace(-1.0, 1.0, 8)
    found = routed(logits, bias)
    assert_close(found.weights_TA.sum(axis=1), np.full(TOKENS, 2.5), CLOSE)
    scores = 1 / (1 + np.exp(-np.take_along_axis(np.asarray(logits), np.asarray(found.chosen_TA), 1)))
    assert_close(found.weights_TA, 2.5 * scores / scores.sum(1, keepdims=True), CLOSE)


def test_no_gradient_reaches_the_bias_or_comes_from_it() -> None:
    logits = logits_world()

    def total(bias_E: jax.Array, logits_TE: jax.Array) -> jax.Array:
        found = routed.__wrapped__(logits_TE, bias_E)
        return jnp.sum(found.next_bias_E * jnp.arange(8.0)) + jnp.sum(found.weights_TA * jnp.arange(2.0)[None])

    differentiate = jax.jit(jax.grad(total, argnums=(0, 1)), compiler_options=QUICK)
    to_bias, to_logits = differentiate(jnp.zeros(8), logits)
    assert_close(to_bias, np.zeros(8, np.float32), EXACT)
    chosen = np.asarray(routed(logits, jnp.zeros(8)).chosen_TA)
    outside = np.ones((TOKENS, 8), bool)
    np.put_along_axis(outside, chosen, False, axis=1)
    assert not np.asarray(to_logits)[outside].any(), "margins must not carry gradient"
    assert np.asarray(to_logits)[~outside].all()


def test_an_unknown_kind_of_weights_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be 'sigmoid_renormalised'.*got 'softmax'"):
        mixing_weights(jnp.zeros((1, 4)), jnp.zeros((1, 2), jnp.int32), "softmax")


def test_the_bias_of_one_step_gives_every_expert_its_even_share_of_the_same_tokens() -> None:
    logits, bias = logits_world(), jnp.zeros(8)
    loads = []
    for _ in range(40):
        found = routed(logits, bias)
        loads.append(np.bincount(np.asarray(found.chosen_TA).ravel(), minlength=8))
        bias = found.next_bias_E
    assert loads[0].max() > 2 * TOKENS * 2 / 8
    assert loads[-1].max() <= 1.15 * TOKENS * 2 / 8


def test_the_bias_has_mean_zero() -> None:
    assert abs(float(routed(logits_world(), jnp.zeros(8)).next_bias_E.mean())) < 1e-6


def test_padding_does_not_move_the_bias() -> None:
    logits = logits_world()
    valid = jnp.arange(TOKENS) < 50
    noisy = jnp.where(valid[:, None], logits, 1e3)
    short = routed(logits[:50], jnp.zeros(8)).next_bias_E
    assert_close(routed(noisy, jnp.zeros(8), valid).next_bias_E, short, CLOSE)


def test_a_batch_of_padding_leaves_the_bias_as_it_was() -> None:
    bias = jnp.linspace(-1.0, 1.0, 8)
    found = balanced_bias(logits_world(), jnp.zeros(TOKENS, bool), 2, bias)
    assert_close(found, bias, EXACT)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_bisection_finds_the_order_statistic(seed: int, num_valid: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, 3)).astype(np.float32)
    valid = np.zeros(40, bool)
    valid[rng.permutation(40)[:num_valid]] = True
    rank = int(rng.integers(num_valid))
    found = jax.jit(order_statistic)(values, valid, jnp.int32(rank))
    assert_close(found, np.sort(values[valid], axis=0)[rank], CLOSE)
