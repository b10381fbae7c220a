"""Which experts a token is sent to, with which weights, and the bias that keeps the experts evenly loaded.

Experts are chosen by logit plus bias and weighted by the logits without it; no gradient reaches the bias and there
is no auxiliary loss. The next bias comes from this batch (quantile balancing): an expert's margin over a token is
its logit minus the token's (A+1)-th biased logit; the (1 − A/E)-quantile of its margins is what must be taken off
for it to win its even share. Quantiles are found by bisection on counts, which costs a fraction of a sort on CPU and
whose counts can be summed over hosts. Logits and all of this are float32 or wider. Padding counts for nothing.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fanal.campaign.derived import ModelShape
from fanal.model.norm import wide


class Routing(NamedTuple):
    """What the router decided for a batch."""

    chosen_TA: Int[Array, "T A"]
    weights_TA: Float[Array, "T A"]
    next_bias_E: Float[Array, " E"]


def route(
    x_TD: Float[Array, "T D"],
    router_DE: Float[Array, "D E"],
    bias_E: Float[Array, " E"],
    valid_T: Bool[Array, " T"],
    shape: ModelShape,
) -> Routing:
    """Choose each token's experts, weight them and propose the bias of the next step."""
    top = shape.experts_per_token
    logits_TE = x_TD.astype(wide(x_TD.dtype)) @ router_DE.astype(wide(router_DE.dtype))
    fixed_TE = lax.stop_gradient(logits_TE)
    best_TA, chosen_TA = lax.top_k(fixed_TE + lax.stop_gradient(bias_E)[None], top + 1)
    threshold_T, chosen_TA = best_TA[:, top], chosen_TA[:, :top]
    weights_TA = shape.router_weight_sum * mixing_weights(logits_TE, chosen_TA, shape.router_weights)
    return Routing(chosen_TA, weights_TA, balanced_bias(fixed_TE - threshold_T[:, None], valid_T, top, bias_E))


def mixing_weights(logits_TE: Float[Array, "T E"], chosen_TA: Int[Array, "T A"], kind: str) -> Float[Array, "T A"]:
    """Weights of the chosen experts from logits without bias, in one of three conventions.

    `sigmoid_renormalised` (the recipe's) and `softmax_of_chosen` sum to 1 over a token's experts;
    `softmax_then_chosen` does not: it leaves out what the others got.

    Raises:
        ValueError: an unknown `kind`.
    """
    if kind == "softmax_then_chosen":
        return jnp.take_along_axis(jax.nn.softmax(logits_TE, axis=-1), chosen_TA, axis=-1)
    logits_TA = jnp.take_along_axis(logits_TE, chosen_TA, axis=-1)
    if kind == "softmax_of_chosen":
        return jax.nn.softmax(logits_TA, axis=-1)
    if kind == "sigmoid_renormalised":
        scores_TA = jax.nn.sigmoid(logits_TA)
        return scores_TA / jnp.sum(scores_TA, axis=-1, keepdims=True)
    kinds = "'sigmoid_renormalised', 'softmax_of_chosen' or 'softmax_then_chosen'"
    raise ValueError(f"router_weights must be {kinds}, got {kind!r}")


def balanced_bias(
    margins_TE: Float[Array, "T E"], valid_T: Bool[Array, " T"], top: int, bias_E: Float[Array, " E"]
) -> Float[Array, " E"]:
    """Minus each expert's (1 − top/E)-quantile of margins, moved to mean zero; unchanged where no token is valid."""
    num_experts = margins_TE.shape[1]
    num_valid = jnp.sum(valid_T, dtype=jnp.int32)
    below = num_valid * (num_experts - top) // num_experts
    quantile_E = order_statistic(margins_TE, valid_T, below)
    return jnp.where(num_valid > 0, jnp.mean(quantile_E) - quantile_E, bias_E)


def order_statistic(
    values_TE: Float[Array, "T E"], valid_T: Bool[Array, " T"], rank: Int[Array, ""]
) -> Float[Array, " E"]:
    """By column, the valid value that has `rank` valid ones before it, to the last bits of the values' range."""
    low_E = jnp.min(values_TE, axis=0, where=valid_T[:, None], initial=jnp.inf)
    high_E = jnp.max(values_TE, axis=0, where=valid_T[:, None], initial=-jnp.inf)

    def halve(_: Int[Array, ""], ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low_E, high_E = ends
        middle_E = (low_E + high_E) / 2
        count_E = jnp.sum((values_TE <= middle_E[None]) & valid_T[:, None], axis=0, dtype=jnp.int32)
        above_E = count_E <= rank
        return jnp.where(above_E, middle_E, low_E), jnp.where(above_E, high_E, middle_E)

    halvings = jnp.finfo(values_TE.dtype).nmant + 2
    return lax.fori_loop(0, halvings, halve, (low_E, high_E))[1]
