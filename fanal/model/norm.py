"""Root-mean-square normalisation, with and without weights, and the precision in which sums are taken.

The mean of squares is always taken in float32 or wider, whatever the values' own dtype. There is no centring and
no bias. It costs two passes over the array; it is not fused with the matrix product that follows.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float
from numpy.typing import DTypeLike


def wide(dtype: DTypeLike) -> jnp.dtype:
    """The dtype in which sums over values of `dtype` are taken: float32, or float64 for float64."""
    return jnp.dtype(jnp.float64 if jnp.dtype(dtype) == jnp.float64 else jnp.float32)


def rms_norm(x: Float[Array, "*X D"], weight_D: Float[Array, " D"] | None, eps: float) -> Float[Array, "*X D"]:
    """Each vector over its root mean square, times the weights where there are any.

    Source: Zhang and Sennrich 2019, without their partial variant.
    """
    mean_square = jnp.mean(jnp.square(x.astype(wide(x.dtype))), axis=-1, keepdims=True)
    y = x * lax.rsqrt(mean_square + eps).astype(x.dtype)
    if weight_D is None:
        return y
    return y * weight_D.astype(x.dtype).reshape((1,) * (x.ndim - 1) + weight_D.shape)
