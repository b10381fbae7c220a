"""`fanal/model/experts.py`: slots, drops, gathers and their gradients."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.experts import Experts, assign_slots, capacity, gather_sum, mix_experts, ranks
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import NO_BIAS, QUICK, SHAPE, forward, logits_of, quiet_model, small_batch

CLOSE = REASSOCIATED["float32"]


def made_experts(num_experts: int = 4) -> Experts:
    rng = np.random.default_rng(1)

    def draw(*sizes: int) -> jax.Array:
        return jnp.asarray(rng.normal(size=sizes), jnp.float32)

    return Experts(draw(num_experts, 3, 5), draw(num_experts, 3, 5), draw(num_experts, 5, 3))


def one_by_one(x, weights, chosen, kept, experts: Experts) -> np.ndarray:
    """The same as loops over tokens and experts."""
    out = np.zeros(x.shape, np.float64)
    for t, a in np.ndindex(chosen.shape):
        if kept[t, a]:
            gate, up, down = (np.asarray(w[chosen[t, a]], np.float64) for w in (experts.gate, experts.up, experts.down))
            inner = x[t] @ gate
            out[t] += weights[t, a] * ((inner / (1 + np.exp(-inner)) * (x[t] @ up)) @ down)
    return out


@pytest.mark.parametrize(
    ("factor", "num_tokens", "slots"), [(1.5, 1024, 384), (1.0, 1024, 256), (1.0, 1025, 264), (0.01, 8, 8)]
)
def test_capacity_is_the_even_share_times_the_factor_rounded_up_to_eight(
    factor: float, num_tokens: int, slots: int
) -> None:
    assert capacity(replace(SHAPE, capacity_factor=factor), num_tokens) == slots


@pytest.mark.parametrize("num_pairs", [1, 127, 128, 129, 300])
def test_a_rank_counts_earlier_pairs_of_the_same_expert(num_pairs: int) -> None:
    expert_P = np.random.default_rng(num_pairs).integers(0, 5, num_pairs)  # 4 is out of range: padding
    found, load = ranks(jnp.asarray(expert_P, jnp.int32), 4)
    for p, expert in enumerate(expert_P):
        assert expert == 4 or found[p] == (expert_P[:p] == expert).sum()
    assert load.tolist() == [int((expert_P == e).sum()) for e in range(4)]


def test_slots_go_to_tokens_in_order_and_the_rest_is_dropped_and_counted() -> None:
    chosen = jnp.array([[0, 1], [0, 2], [0, 1], [1, 0]], jnp.int32)
    slots = assign_slots(chosen, jnp.ones(4, bool), num_experts=3, capacity=2)
    nowhere = 6
    assert slots.slot_TA.tolist() == [[0, 2], [1, 4], [nowhere, 3], [nowhere, nowhere]]
    assert slots.pair_X.tolist() == [0, 2, 1, 5, 3, 8]
    assert slots.load_E.tolist() == [4, 3, 1]
    assert int(slots.dropped) == 3


def test_padding_takes_no_slot_and_drops_no_real_token() -> None:
    chosen = jnp.zeros((4, 1), jnp.int32)
    slots = assign_slots(chosen, jnp.array([False, False, True, True]), num_experts=2, capacity=2)
    assert slots.slot_TA.ravel().tolist() == [4, 4, 0, 1]
    assert slots.load_E.tolist() == [2, 0]
    assert int(slots.dropped) == 0


@pytest.mark.parametrize("slots_each", [2, 3, 8])
def test_the_mix_is_the_sum_over_experts_where_the_token_found_a_slot(slots_each: int) -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(6, 3)).astype(np.float32), rng.random((6, 2)).astype(np.float32)
    chosen = np.array([[0, 1], [0, 3], [1, 0], [3, 1], [0, 1], [1, 3]], np.int32)
    slots = assign_slots(jnp.asarray(chosen), jnp.ones(6, bool), 4, slots_each)
    experts = made_experts()
    kept = np.asarray(slots.slot_TA) < 4 * slots_each
    found = jax.jit(mix_experts, compiler_options=QUICK)(x, weights, slots, experts)
    assert_close(found, one_by_one(x, weights, chosen, kept, experts), CLOSE)
    assert int(slots.dropped) == (~kept).sum()


def test_the_gradient_of_a_gather_is_that_of_plain_indexing() -> None:
    values = jnp.arange(12.0).reshape(4, 3)
    index = jnp.array([[1, 3], [4, 0], [2, 4]])  # 4 is past the end
    inverse = jnp.array([[1], [0], [2], [0]])
    weight = jnp.arange(9.0).reshape(3, 3)

    def plain(values: jax.Array) -> jax.Array:
        rows = jnp.concatenate([values, jnp.zeros((1, 3))])
        return jnp.sum(weight * (rows[index[:, 0]] + rows[index[:, 1]]))

    def gathered(values: jax.Array) -> jax.Array:
        return jnp.sum(weight * gather_sum(values, index, inverse))

    for found, expected in zip(jax.value_and_grad(gathered)(values), jax.value_and_grad(plain)(values), strict=True):
        assert_close(found, expected, EXACT)


def test_an_unused_expert_has_a_gradient_of_exactly_zero() -> None:
    chosen = jnp.array([[0], [2], [0]], jnp.int32)
    slots = assign_slots(chosen, jnp.ones(3, bool), 4, 8)
    x = jnp.ones((3, 3))

    @partial(jax.jit, compiler_options=QUICK)
    def gradient(experts: Experts) -> Experts:
        return jax.grad(lambda e: jnp.sum(jnp.square(mix_experts(x, jnp.ones((3, 1)), slots, e))))(experts)

    grads = gradient(made_experts())
    for leaf in (grads.gate, grads.up, grads.down):
        assert [bool(leaf[e].any()) for e in range(4)] == [True, False, True, False]


def test_what_padding_holds_changes_no_real_logits_even_where_tokens_are_dropped() -> None:
    batch = small_batch(padded=True)
    noise = jnp.where(batch.valid_BS, batch.inputs_BS, (batch.inputs_BS + 5) % SHAPE.vocab)
    model = quiet_model()
    before = logits_of(model, batch, NO_BIAS, 2)
    after = logits_of(model, replace(batch, inputs_BS=noise), NO_BIAS, 2)
    valid = np.asarray(batch.valid_BS)
    assert_close(before[valid], after[valid], EXACT)
    assert not np.array_equal(before[~valid], after[~valid])


def test_the_report_counts_every_assignment_of_real_tokens() -> None:
    batch = small_batch(padded=True)
    run = jax.jit(partial(forward, slots_per_expert=2), compiler_options=QUICK)
    _, report = run(quiet_model(), batch, NO_BIAS)
    real = int(batch.valid_BS.sum())
    assert report.assigned_L.tolist() == [real * SHAPE.experts_per_token] * SHAPE.num_layers
    assert report.dropped_L.tolist() == [int(np.maximum(load - 2, 0).sum()) for load in np.asarray(report.load_LE)]
    assert (report.dropped_L > 0).all()
