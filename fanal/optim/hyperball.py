"""The fixed-norm step: a matrix moves along a direction by a share of its own norm, then back to that norm.

Guarantees that every matrix keeps its Frobenius norm, each expert its own, and that a zero direction leaves the
matrix bitwise as it was. The length of the direction does not matter, so the rate is the step's length over the
matrix's norm. There is no weight decay: the norm cannot grow.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from fanal.model.norm import wide


def frobenius(matrix_IO: Float[Array, "*X I O"]) -> Float[Array, "*X 1 1"]:
    """√Σx² of each matrix, in float32 or wider."""
    values = matrix_IO.astype(wide(matrix_IO.dtype))
    return jnp.sqrt(jnp.sum(jnp.square(values), axis=(-2, -1), keepdims=True))


def fixed_norm_step(
    matrix_IO: Float[Array, "*X I O"], direction_IO: Float[Array, "*X I O"], rate: Float[Array, ""]
) -> Float[Array, "*X I O"]:
    """W − rate·‖W‖·u/‖u‖, rescaled to ‖W‖, by matrix.

    Source: the MuonH and AdamH of Marin's public optimizer files.
    """
    norm, length = frobenius(matrix_IO), frobenius(direction_IO)
    share = (rate.astype(norm.dtype) * norm / _or_one(length)).astype(matrix_IO.dtype)
    moved_IO = matrix_IO - share * direction_IO
    back = (norm / _or_one(frobenius(moved_IO))).astype(matrix_IO.dtype)
    return jnp.where(length > 0, moved_IO * back, matrix_IO)


def _or_one(x: Array) -> Array:
    return jnp.where(x > 0, x, jnp.ones_like(x))
