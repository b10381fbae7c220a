"""Which optimizer a leaf belongs to, by its name, and the update of all leaves.

`muonh`: matrices of the layers, each expert's its own. `adamh`: the head. `adam`: embedding, norms, router. The
name decides and never the number of axes, which stacking changes. No group has weight decay: matrices keep their
norm, the others are free.
"""

from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fanal.campaign.derived import OptimizerPlan
from fanal.optim.adam import AdamMoments, adam_direction
from fanal.optim.hyperball import fixed_norm_step
from fanal.optim.muon import nesterov, orthogonalise

GROUPS = ("adam", "muonh", "adamh")
MATRICES = ("attention", "latent", "experts", "shared")


class Moments(eqx.Module):
    """Running means by stacked name: of the gradient for every leaf, of its square where Adam needs it."""

    first: dict[str, Array]
    second: dict[str, Array]


def group_of(name: str) -> str:
    """The optimizer of a leaf, from its stacked or its leaf name.

    Raises:
        ValueError: a name of no group.
    """
    parts = name.split("/")
    if parts[-1] in ("norm", "attention_norm", "mlp_norm", "embedding_norm", "final_norm", "embedding", "router"):
        return "adam"
    if name == "head":
        return "adamh"
    if len(parts) > 2 and parts[1] in MATRICES:
        return "muonh"
    raise ValueError(f"{name!r} belongs to no optimizer group; a new leaf needs a line in group_of")


def init_moments(params: Mapping[str, Array]) -> Moments:
    """All zero."""
    zeros = {name: jnp.zeros_like(param) for name, param in params.items()}
    return Moments(zeros, {n: jnp.zeros_like(p) for n, p in params.items() if group_of(n) != "muonh"})


def update_all(
    params: Mapping[str, Array],
    gradients: Mapping[str, Array],
    moments: Moments,
    updates: Int[Array, ""],
    rate_frac: Float[Array, ""],
    plan: OptimizerPlan,
) -> tuple[dict[str, Array], Moments]:
    """Every leaf and its moments one update on; `updates` counts those applied before."""
    new: dict[str, Array] = {}
    first, second = dict(moments.first), dict(moments.second)
    for name, param in params.items():
        group, gradient = group_of(name), gradients[name]
        if group == "muonh":
            ahead, first[name] = nesterov(gradient, first[name], plan.momentum)
            direction = orthogonalise(ahead, plan.newton_schulz_steps)
            new[name] = fixed_norm_step(param, direction, plan.muonh_lr * rate_frac)
            continue
        number = (updates + 1).astype(param.dtype)
        direction, kept = adam_direction(gradient, AdamMoments(first[name], second[name]), number, plan)
        first[name], second[name] = kept
        if group == "adamh":
            new[name] = fixed_norm_step(param, direction, plan.adamh_lr * rate_frac)
        else:
            new[name] = param - (plan.adam_lr * rate_frac).astype(param.dtype) * direction
    return new, Moments(first, second)
