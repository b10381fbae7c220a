"""One layer: attention, then shared and routed experts, each after a normalisation and added to the stream.

The routed experts work in a latent width: the normalised stream is projected down and normalised again, goes through
the experts, and their weighted sum is projected up. The router and the shared experts read the full width. A layer is
the same code whether its weights are one layer's or a slice of the stack.
"""

from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Int

from fanal.campaign.derived import ModelShape
from fanal.model.attention import Attention, Rotation, attend, project
from fanal.model.experts import Experts, assign_slots, mix_experts
from fanal.model.norm import rms_norm
from fanal.model.router import route


class Latent(eqx.Module):
    """Into the experts' width and back."""

    down: Float[Array, "*L D M"]
    norm: Float[Array, "*L M"]
    up: Float[Array, "*L M D"]


class Shared(eqx.Module):
    """The experts that every token uses, side by side as one."""

    gate: Float[Array, "*L D W"]
    up: Float[Array, "*L D W"]
    down: Float[Array, "*L W D"]


class Block(eqx.Module):
    """Weights of one layer, or of all with a leading axis."""

    attention_norm: Float[Array, "*L D"]
    attention: Attention
    mlp_norm: Float[Array, "*L D"]
    router: Float[Array, "*L D E"]
    latent: Latent
    experts: Experts
    shared: Shared


class LayerReport(NamedTuple):
    """What one layer's router did; stacked over layers it gets a leading axis."""

    next_bias_E: Float[Array, "*L E"]
    load_E: Int[Array, "*L E"]
    dropped: Int[Array, "*L"]


def attention_branch(
    x_BSD: Float[Array, "B S D"], block: Block, mask_BSS: Bool[Array, "B S S"], rotation: Rotation, shape: ModelShape
) -> Float[Array, "B S D"]:
    """What attention adds to the stream."""
    normed_BSD = rms_norm(x_BSD, block.attention_norm, shape.norm_eps)
    q_BSNH, k_BSKH, v_BSKH = project(normed_BSD, block.attention, rotation, shape)
    return attend(q_BSNH, k_BSKH, v_BSKH, mask_BSS) @ block.attention.o


def expert_branch(
    x_BSD: Float[Array, "B S D"],
    block: Block,
    bias_E: Float[Array, " E"],
    valid_BS: Bool[Array, "B S"],
    capacity: int,
    shape: ModelShape,
) -> tuple[Float[Array, "B S D"], LayerReport]:
    """What the experts add to the stream, and what the router did."""
    x_TD = rms_norm(x_BSD, block.mlp_norm, shape.norm_eps).reshape(-1, x_BSD.shape[-1])
    valid_T = valid_BS.reshape(-1)
    routing = route(x_TD, block.router, bias_E, valid_T, shape)
    slots = assign_slots(routing.chosen_TA, valid_T, shape.num_experts, capacity)
    latent_TM = rms_norm(x_TD @ block.latent.down, block.latent.norm, shape.norm_eps)
    routed_TD = mix_experts(latent_TM, routing.weights_TA, slots, block.experts) @ block.latent.up
    shared_TD = (jax.nn.silu(x_TD @ block.shared.gate) * (x_TD @ block.shared.up)) @ block.shared.down
    report = LayerReport(routing.next_bias_E, slots.load_E, slots.dropped)
    return (routed_TD + shared_TD).reshape(x_BSD.shape), report
