"""Tokens to their experts and back: padded capacity, gathers both ways, no scatter of values.

Each expert has `capacity` slots. A token takes the next free slot of each of its experts in token order; one that
finds none is dropped for that expert: it contributes nothing there, its other weights are not raised, and it is
counted. Padding takes no slot. Values move by gathers alone, and the gradient of each gather is the gather by the
inverse table, which on CPU is several times faster than a scatter; empty slots are zero, so an expert without
tokens has a gradient of exactly zero. Costs capacity_factor times the FLOPs of the tokens' own work.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fanal.campaign.derived import ModelShape

SLOTS_MULTIPLE = 8
BLOCK_TOKENS = 128


class Experts(eqx.Module):
    """Gated experts, gate and up into the inner width and down out of it; with or without leading layers."""

    gate: Float[Array, "*L E M F"]
    up: Float[Array, "*L E M F"]
    down: Float[Array, "*L E F M"]


class Slots(NamedTuple):
    """Who sits where; X runs over the E·C slots. An index one past the end means nobody, or nowhere."""

    slot_TA: Int[Array, "T A"]
    pair_X: Int[Array, " X"]
    load_E: Int[Array, " E"]
    dropped: Int[Array, ""]


def capacity(shape: ModelShape, num_tokens: int) -> int:
    """Slots of one expert for a batch: its even share times the capacity factor, rounded up to a multiple of 8."""
    even_share = num_tokens * shape.experts_per_token / shape.num_experts
    return math.ceil(shape.capacity_factor * even_share / SLOTS_MULTIPLE) * SLOTS_MULTIPLE


def assign_slots(chosen_TA: Int[Array, "T A"], valid_T: Bool[Array, " T"], num_experts: int, capacity: int) -> Slots:
    """Give each valid token its slots, first come first served in token order."""
    num_pairs, nowhere = chosen_TA.size, num_experts * capacity
    expert_P = jnp.where(valid_T[:, None], chosen_TA, num_experts).reshape(-1)
    rank_P, load_E = ranks(expert_P, num_experts)
    seated_P = (expert_P < num_experts) & (rank_P < capacity)
    slot_P = jnp.where(seated_P, expert_P * capacity + rank_P, nowhere)
    pair_X = jnp.full(nowhere, num_pairs, jnp.int32).at[slot_P].set(jnp.arange(num_pairs, dtype=jnp.int32), mode="drop")
    dropped = jnp.sum(load_E, dtype=jnp.int32) - jnp.sum(seated_P, dtype=jnp.int32)
    return Slots(slot_P.reshape(chosen_TA.shape), pair_X, load_E, dropped)


def ranks(expert_P: Int[Array, " P"], num_experts: int) -> tuple[Int[Array, " P"], Int[Array, " E"]]:
    """How many earlier pairs went to the same expert, and each expert's total; an expert out of range counts nowhere.

    By prefix sums over blocks of one-hot rows; no sort.
    """
    num_pairs = expert_P.shape[0]
    padded_P = jnp.pad(expert_P, (0, -num_pairs % BLOCK_TOKENS), constant_values=num_experts)
    blocks_XY = padded_P.reshape(-1, BLOCK_TOKENS)
    hot_XYE = jax.nn.one_hot(blocks_XY, num_experts, dtype=jnp.float32)
    earlier_YY = jnp.tril(jnp.ones((BLOCK_TOKENS, BLOCK_TOKENS), jnp.float32), -1)
    within_XYE = jnp.einsum("YZ,XZE->XYE", earlier_YY, hot_XYE)
    total_XE = jnp.sum(hot_XYE, axis=1).astype(jnp.int32)
    before_XE = jnp.cumsum(total_XE, axis=0, dtype=jnp.int32) - total_XE
    rank_XYE = (within_XYE.astype(jnp.int32) + before_XE[:, None]) * hot_XYE.astype(jnp.int32)
    rank_P = jnp.sum(rank_XYE, axis=-1, dtype=jnp.int32).reshape(-1)[:num_pairs]
    return rank_P, jnp.sum(total_XE, axis=0, dtype=jnp.int32)


@jax.custom_vjp
def gather_sum(
    values_YM: Float[Array, "Y M"], index_XJ: Int[Array, "X J"], inverse_YG: Int[Array, "Y G"]
) -> Float[Array, "X M"]:
    """Row x is the sum over j of `values[index[x, j]]`, an index past the end giving zero.

    `inverse_YG` lists for each value the rows that took it; with it the gradient is the same function, turned round.
    """
    del inverse_YG
    taken = [values_YM.at[index_XJ[:, j]].get(mode="fill", fill_value=0) for j in range(index_XJ.shape[1])]
    return sum(taken[1:], start=taken[0])


def _gather_sum_forward(values_YM: Array, index_XJ: Array, inverse_YG: Array) -> tuple[Array, tuple[Array, Array]]:
    return gather_sum(values_YM, index_XJ, inverse_YG), (index_XJ, inverse_YG)


def _gather_sum_backward(tables: tuple[Array, Array], gradient_XM: Array) -> tuple[Array, None, None]:
    index_XJ, inverse_YG = tables
    return gather_sum(gradient_XM, inverse_YG, index_XJ), None, None


gather_sum.defvjp(_gather_sum_forward, _gather_sum_backward)


def mix_experts(
    x_TM: Float[Array, "T M"], weights_TA: Float[Array, "T A"], slots: Slots, experts: Experts
) -> Float[Array, "T M"]:
    """Each token's weighted sum over the experts where it found a slot."""
    num_experts, top = experts.gate.shape[0], weights_TA.shape[1]
    token_X1, pair_X1 = slots.pair_X[:, None] // top, slots.pair_X[:, None]
    x_ECM = gather_sum(x_TM, token_X1, slots.slot_TA).reshape(num_experts, -1, x_TM.shape[1])
    weights_X1 = gather_sum(weights_TA.reshape(-1, 1), pair_X1, slots.slot_TA.reshape(-1, 1))
    y_ECM = swiglu(x_ECM, experts) * weights_X1.astype(x_TM.dtype).reshape(num_experts, -1, 1)
    return gather_sum(y_ECM.reshape(-1, x_TM.shape[1]), slots.slot_TA, token_X1)


def swiglu(x_ECM: Float[Array, "E C M"], experts: Experts) -> Float[Array, "E C M"]:
    """silu(x · gate) ∘ (x · up) · down, each expert on its own slots.

    Source: Shazeer 2020.
    """
    gate_ECF = jnp.einsum("ECM,EMF->ECF", x_ECM, experts.gate)
    up_ECF = jnp.einsum("ECM,EMF->ECF", x_ECM, experts.up)
    return jnp.einsum("ECF,EFM->ECM", jax.nn.silu(gate_ECF) * up_ECF, experts.down)
