"""The training loss of a batch: sums over scored tokens and their count, divided once.

Guarantees that a token weighs the same wherever it stands, and that a batch without scored tokens has loss 0 and
gradient 0. The reported loss is the cross-entropy alone; the z-loss, which holds the logits' normaliser near one,
is added to the objective and reported under its own name.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fanal.model.lm import LanguageModel, RouterReport, token_losses


class StepBatch(eqx.Module):
    """The arrays of one batch, on the device."""

    inputs_BS: Int[Array, "B S"]
    targets_BS: Int[Array, "B S"]
    segments_BS: Int[Array, "B S"]
    positions_BS: Int[Array, "B S"]
    scored_BS: Bool[Array, "B S"]
    valid_BS: Bool[Array, "B S"]


class Losses(NamedTuple):
    """What the objective is made of."""

    cross_entropy: Float[Array, ""]
    z_loss: Float[Array, ""]
    scored: Int[Array, ""]


def token_mean(values_BS: Float[Array, "B S"], scored_BS: Bool[Array, "B S"]) -> Float[Array, ""]:
    """The mean over scored tokens; 0 where there are none."""
    count = jnp.maximum(jnp.sum(scored_BS, dtype=jnp.int32), 1)
    return jnp.sum(jnp.where(scored_BS, values_BS, 0.0)) / count.astype(values_BS.dtype)


def objective(
    model: LanguageModel, batch: StepBatch, router_bias_LE: Float[Array, "L E"], z_loss_factor: float
) -> tuple[Float[Array, ""], tuple[Losses, RouterReport]]:
    """What is differentiated, with its parts and the routers' report."""
    logits_BSV, routers = model.forward(
        batch.inputs_BS, batch.segments_BS, batch.positions_BS, batch.valid_BS, router_bias_LE
    )
    loss_BS, log_norm_BS = token_losses(logits_BSV, batch.targets_BS)
    cross_entropy = token_mean(loss_BS, batch.scored_BS)
    z_loss = z_loss_factor * token_mean(jnp.square(log_norm_BS), batch.scored_BS)
    losses = Losses(cross_entropy, z_loss, jnp.sum(batch.scored_BS, dtype=jnp.int32))
    return cross_entropy + z_loss, (losses, routers)
