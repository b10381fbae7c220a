"""Grouped-query attention that never leaves its document, windowed with positions or full without.

A windowed layer sees the last `window_tokens` positions, itself included, and rotates the leading components of
queries and keys; a full layer sees all of its document and knows no positions. Rotation is the half-split kind:
component i turns with component i + rotary_size/2. Queries and keys are normalised without weights, queries then
take `qk_scale`. Scores of all pairs are formed, so the cost is quadratic in the sequence.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fanal.campaign.derived import ModelShape
from fanal.model.norm import rms_norm, wide


class Attention(eqx.Module):
    """Weights of one layer, or of all with a leading axis."""

    q: Float[Array, "*L D NH"]
    k: Float[Array, "*L D KH"]
    v: Float[Array, "*L D KH"]
    o: Float[Array, "*L NH D"]


class Rotation(NamedTuple):
    """Cosines and sines of each position's angles; R is half of `rotary_size`."""

    cos_BSR: Float[Array, "B S R"]
    sin_BSR: Float[Array, "B S R"]

    def unless(self, full: Bool[Array, ""]) -> "Rotation":
        """The same, or angles of zero in a full layer."""
        return Rotation(jnp.where(full, 1.0, self.cos_BSR), jnp.where(full, 0.0, self.sin_BSR))


class Sight(NamedTuple):
    """What positions see and where they stand, for both kinds of layer; the same in every layer."""

    windowed_BSS: Bool[Array, "B S S"]
    full_BSS: Bool[Array, "B S S"]
    rotation: Rotation

    def of(self, full: Bool[Array, ""]) -> tuple[Bool[Array, "B S S"], Rotation]:
        """One layer's mask and rotation."""
        return jnp.where(full, self.full_BSS, self.windowed_BSS), self.rotation.unless(full)


def rotation(positions_BS: Int[Array, "B S"], shape: ModelShape, dtype: jnp.dtype) -> Rotation:
    """Angles position · theta^(−2i / rotary_size), in float32 or wider.

    Source: Su et al. 2021, on a part of each head.
    """
    half = shape.rotary_size // 2
    rates_R = shape.rope_theta ** (-jnp.arange(half, dtype=wide(dtype)) / half)
    angles_BSR = positions_BS.astype(wide(dtype))[..., None] * rates_R[None, None]
    return Rotation(jnp.cos(angles_BSR).astype(dtype), jnp.sin(angles_BSR).astype(dtype))


def rotate(x_BSNH: Float[Array, "B S N H"], rotation: Rotation) -> Float[Array, "B S N H"]:
    """Turn the leading components of each head; the others pass."""
    cos, sin = (part[:, :, None] for part in rotation)
    half = cos.shape[-1]
    a, b, rest = jnp.split(x_BSNH, (half, 2 * half), axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin, rest], axis=-1)


def sight(
    segments_BS: Int[Array, "B S"],
    positions_BS: Int[Array, "B S"],
    valid_BS: Bool[Array, "B S"],
    shape: ModelShape,
    dtype: jnp.dtype,
) -> Sight:
    """Masks: causal, inside the document, real positions and padding apart (padding sees padding only)."""
    order_S = jnp.arange(segments_BS.shape[1])
    distance_SS = order_S[:, None] - order_S[None, :]
    same_BSS = (segments_BS[:, :, None] == segments_BS[:, None, :]) & (valid_BS[:, :, None] == valid_BS[:, None, :])
    full_BSS = same_BSS & (distance_SS >= 0)[None]
    return Sight(full_BSS & (distance_SS < shape.window_tokens)[None], full_BSS, rotation(positions_BS, shape, dtype))


def project(
    x_BSD: Float[Array, "B S D"], weights: Attention, rotation: Rotation, shape: ModelShape
) -> tuple[Float[Array, "B S N H"], Float[Array, "B S K H"], Float[Array, "B S K H"]]:
    """Queries, keys and values by head, normalised, scaled and rotated."""

    def heads(weight: Float[Array, "D X"]) -> Float[Array, "B S _ H"]:
        return (x_BSD @ weight).reshape(*x_BSD.shape[:2], -1, shape.head_size)

    q_BSNH = rms_norm(heads(weights.q), None, shape.norm_eps) * shape.qk_scale
    k_BSKH = rms_norm(heads(weights.k), None, shape.norm_eps)
    return rotate(q_BSNH, rotation), rotate(k_BSKH, rotation), heads(weights.v)


def attend(
    q_BSNH: Float[Array, "B S N H"],
    k_BPKH: Float[Array, "B P K H"],
    v_BPKH: Float[Array, "B P K H"],
    mask_BSP: Bool[Array, "B S P"],
) -> Float[Array, "B S NH"]:
    """Each query's mean of the values it sees, weighted by softmax of score / √head_size; P counts what is seen.

    Normalised queries and keys bound a score by qk_scale·√head_size (15 for heads of 128), so no maximum is taken
    off before the exponential, and the sum divides the result rather than every weight.
    """
    num_kv_heads, head_size = k_BPKH.shape[2:]
    q_BSKQH = q_BSNH.reshape(*q_BSNH.shape[:2], num_kv_heads, -1, head_size)
    scores_BKQSP = jnp.einsum("BSKQH,BPKH->BKQSP", q_BSKQH, k_BPKH).astype(wide(q_BSNH.dtype)) * head_size**-0.5
    shares_BKQSP = jnp.exp(jnp.where(mask_BSP[:, None, None], scores_BKQSP, -jnp.inf))
    mixed_BSKQH = jnp.einsum("BKQSP,BPKH->BSKQH", shares_BKQSP.astype(v_BPKH.dtype), v_BPKH)
    total_BSKQ = jnp.transpose(jnp.sum(shares_BKQSP, axis=-1), (0, 3, 1, 2)).astype(v_BPKH.dtype)
    return (mixed_BSKQH / total_BSKQ[..., None]).reshape(*q_BSNH.shape[:2], -1)
