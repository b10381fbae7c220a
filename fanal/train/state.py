"""Everything a training carries from step to step, and the names of its arrays.

The next step is a function of this state and the batch at `position`, nothing else: saved and restored bitwise, a
run goes on as if it had not stopped. Counts are int32, or int64 under `jax_enable_x64`; int32 holds two billion
sequences. Names are paths (`model/layers/attention/q`), the same in memory and in a checkpoint.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fanal.campaign.derived import RunPlan
from fanal.errors import CheckpointError
from fanal.model.lm import LanguageModel, init_model
from fanal.model.names import named, with_named
from fanal.model.norm import wide
from fanal.optim.groups import Moments, init_moments
from fanal.optim.guard import GuardState, init_guard


class TrainState(eqx.Module):
    """The state of one training."""

    model: LanguageModel
    moments: Moments
    router_bias_LE: Float[Array, "L E"]
    position: Int[Array, ""]
    """Sequences drawn."""
    step: Int[Array, ""]
    """Updates attempted."""
    updates: Int[Array, ""]
    """Updates applied."""
    guard: GuardState


def init_state(run: RunPlan, dtype: jnp.dtype | None = None) -> TrainState:
    """The state before the first step; its values depend on the run's shape and seed alone."""
    model = init_model(run.model, run.seed, dtype)
    work = wide(model.embedding.dtype)
    count = jax.dtypes.canonicalize_dtype(jnp.int64)
    return TrainState(
        model=model,
        moments=init_moments(named(model)),
        router_bias_LE=jnp.zeros((run.model.num_layers, run.model.num_experts), work),
        position=jnp.zeros((), count),  # three arrays: a donated state must not hold one buffer twice
        step=jnp.zeros((), count),
        updates=jnp.zeros((), count),
        guard=init_guard(run.optimizer, work, count),
    )


def named_leaves(state: TrainState) -> dict[str, Array]:
    """Every array of the state by its name."""
    return named(state)


def with_leaves(state: TrainState, leaves: Mapping[str, Any]) -> TrainState:
    """A state of the same structure that holds `leaves`.

    Raises:
        CheckpointError: a name too many or missing, or another shape or dtype; nothing is cast.
    """
    wanted = named(state)
    lacking, unknown = sorted(wanted.keys() - leaves.keys()), sorted(leaves.keys() - wanted.keys())
    if lacking or unknown:
        raise CheckpointError(f"the checkpoint lacks {lacking or 'no leaf'} and has {unknown or 'none'} besides")
    for name, leaf in wanted.items():
        found = leaves[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise CheckpointError(
                f"leaf {name!r} is {leaf.dtype}{list(leaf.shape)} in the state and "
                f"{found.dtype}{list(found.shape)} in the checkpoint; they must be equal"
            )
    return with_named(state, leaves)
