"""Adam's direction, without rate and without weight decay; its correction counts applied updates.

Both moments are kept in the parameter's dtype. A parameter that never had a gradient has direction zero. The head
takes this direction in a fixed-norm step (AdamH), embedding, norms and router take it as it is.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from fanal.campaign.derived import OptimizerPlan


class AdamMoments(NamedTuple):
    """Running means of the gradient and of its square."""

    first: Float[Array, "*X"]
    second: Float[Array, "*X"]


def adam_direction(
    gradient: Float[Array, "*X"], moments: AdamMoments, update: Float[Array, ""], plan: OptimizerPlan
) -> tuple[Float[Array, "*X"], AdamMoments]:
    """m̂ / (√v̂ + eps) and the next moments; `update` numbers this update, from 1.

    Source: Kingma and Ba 2015, algorithm 1.
    """
    first = plan.beta1 * moments.first + (1 - plan.beta1) * gradient
    second = plan.beta2 * moments.second + (1 - plan.beta2) * jnp.square(gradient)
    first_hat = first / (1 - plan.beta1**update)
    second_hat = second / (1 - plan.beta2**update)
    return first_hat / (jnp.sqrt(second_hat) + plan.adam_eps), AdamMoments(first, second)
