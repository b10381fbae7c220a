"""Whether a step's update is applied: finite, no spike, something scored; decided inside the step, by one flag.

A skipped update leaves parameters, moments, router bias, update count and history bitwise as they were. The limit is
the mean plus `spike_factor` standard deviations (n − 1 in the divisor) of the last `spike_history` accepted losses,
and holds once there are that many. Only accepted losses enter the history, so no NaN does; the price is that a loss
that moves up for good and by that much is skipped until a person acts.
"""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from fanal.campaign.derived import OptimizerPlan

APPLIED, NON_FINITE, SPIKE, NO_SCORED_TOKENS = range(4)
REASONS = ("applied", "non_finite", "spike", "no_scored_tokens")
"""The words of the codes; those of the `skip` event."""

Tree = TypeVar("Tree")


class GuardState(eqx.Module):
    """The accepted losses, in a ring, and how many there have been."""

    losses_X: Float[Array, " X"]
    accepted: Int[Array, ""]


def init_guard(plan: OptimizerPlan, dtype: jnp.dtype, count_dtype: jnp.dtype) -> GuardState:
    """No loss accepted yet."""
    return GuardState(jnp.zeros(plan.spike_history, dtype), jnp.zeros((), count_dtype))


def loss_limit(state: GuardState, factor: float) -> Float[Array, ""]:
    """The largest loss that is accepted next; infinite until the history is full."""
    losses_X = state.losses_X
    offset_X = losses_X - losses_X[:1]  # a constant history has a mean of exactly that constant
    deviation = jnp.std(losses_X, ddof=1) if losses_X.size > 1 else jnp.zeros((), losses_X.dtype)
    limit = losses_X[0] + jnp.mean(offset_X) + factor * deviation
    return jnp.where(state.accepted >= losses_X.size, limit, jnp.inf)


def judge(
    loss: Float[Array, ""], scored: Int[Array, ""], finite: Bool[Array, ""], limit: Float[Array, ""]
) -> Int[Array, ""]:
    """The code of the first reason that holds; `finite` speaks for gradients and candidate state."""
    finite = finite & jnp.isfinite(loss)
    refused = jnp.where(loss <= limit, APPLIED, SPIKE)
    return jnp.where(scored == 0, NO_SCORED_TOKENS, jnp.where(finite, refused, NON_FINITE)).astype(jnp.int32)


def remember(state: GuardState, loss: Float[Array, ""]) -> GuardState:
    """The history with one more accepted loss, in the place of the oldest."""
    place = state.accepted % state.losses_X.size
    return GuardState(state.losses_X.at[place].set(loss), state.accepted + 1)


def choose(skip: Bool[Array, ""], before: Tree, candidate: Tree) -> Tree:
    """`before` where the update is skipped, bitwise, else `candidate`."""
    return jax.tree.map(lambda old, new: jnp.where(skip, old, new), before, candidate)


def all_finite(tree: PyTree) -> Bool[Array, ""]:
    """Whether every number of every array is finite."""
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.stack(leaves))
