"""Muon's direction: momentum whose singular values are all made about one, by matrix and by expert.

Leading axes count separate matrices: each is orthogonalised alone. Matrices are stored (in, out). The quintic
iteration with Muon's coefficients takes singular values to between 0.7 and 1.2 in five steps, not to exactly one;
`EXACT_QUINTIC` converges, slowly. Costs about 6·min(I, O)²·max(I, O) FLOPs a step and matrix, whatever the batch.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from fanal.optim.hyperball import frobenius

FAST_QUINTIC = (3.4445, -4.7750, 2.0315)
"""Source: Jordan et al. 2024, Muon."""
EXACT_QUINTIC = (15 / 8, -10 / 8, 3 / 8)
"""Source: Higham 2008, Functions of Matrices, the Padé iteration of order five."""


def nesterov(
    gradient: Float[Array, "*X"], momentum: Float[Array, "*X"], decay: float
) -> tuple[Float[Array, "*X"], Float[Array, "*X"]]:
    """What to step along, and the next momentum: m' = decay·m + g, then g + decay·m'."""
    momentum = decay * momentum + gradient
    return gradient + decay * momentum, momentum


def orthogonalise(
    matrix_IO: Float[Array, "*X I O"], steps: int, coefficients: tuple[float, float, float] = FAST_QUINTIC
) -> Float[Array, "*X I O"]:
    """Newton–Schulz iteration from the matrix over its Frobenius norm; a zero matrix stays zero.

    It is first divided by its largest entry, so that no size of gradient overflows or vanishes in the norm.
    """
    a, b, c = coefficients
    tall = matrix_IO.shape[-2] > matrix_IO.shape[-1]
    x = jnp.swapaxes(matrix_IO, -1, -2) if tall else matrix_IO
    x = _over_norm(x)
    for _ in range(steps):
        gram = x @ jnp.swapaxes(x, -1, -2)
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return jnp.swapaxes(x, -1, -2) if tall else x


def muon_scale(in_width: int, out_width: int) -> float:
    """√max(1, out/in): plain Muon's factor, for a matrix stored (in, out); a fixed-norm step does not need it."""
    return math.sqrt(max(1.0, out_width / in_width))


def _over_norm(matrix_IO: Array) -> Array:
    largest = jnp.max(jnp.abs(matrix_IO), axis=(-2, -1), keepdims=True)
    scaled = matrix_IO / jnp.where(largest > 0, largest, jnp.ones_like(largest))
    norm = frobenius(scaled).astype(matrix_IO.dtype)
    return scaled / jnp.where(norm > 0, norm, jnp.ones_like(norm))
