"""The language model: token ids to logits, layers scanned, everything inside its document.

Guarantees that padding changes nothing for real tokens and that a document's logits do not depend on its neighbours
in the sequence (they may compete for experts' slots: a batch that drops is told so in its report). The dtype of the
parameters is the dtype of the work; sums that need it are taken in float32 or wider. Initial values depend on the
seed and each leaf's name alone, not on the order of leaves, and a layer's not on how many there are.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fanal.campaign.derived import ModelShape
from fanal.model.attention import Attention, sight
from fanal.model.block import Block, Latent, LayerReport, Shared, attention_branch, expert_branch
from fanal.model.experts import Experts, capacity
from fanal.model.initial import truncated_normal
from fanal.model.names import LAYERS, named, with_named
from fanal.model.norm import rms_norm, wide

UNROLLED_LAYERS = 4
"""Up to this depth the scan is unrolled: up to a tenth faster on CPU, and no slower to compile."""


class RouterReport(NamedTuple):
    """What every layer's router did with a batch."""

    next_bias_LE: Float[Array, "L E"]
    load_LE: Int[Array, "L E"]
    dropped_L: Int[Array, " L"]
    assigned_L: Int[Array, " L"]


class LanguageModel(eqx.Module):
    """Every trained parameter; layers are stacked with a leading axis. `shape` is static."""

    embedding: Float[Array, "V D"]
    embedding_norm: Float[Array, " D"]
    layers: Block
    final_norm: Float[Array, " D"]
    head: Float[Array, "D V"]
    shape: ModelShape = eqx.field(static=True)

    def forward(
        self,
        inputs_BS: Int[Array, "B S"],
        segments_BS: Int[Array, "B S"],
        positions_BS: Int[Array, "B S"],
        valid_BS: Bool[Array, "B S"],
        router_bias_LE: Float[Array, "L E"],
        slots_per_expert: int | None = None,
    ) -> tuple[Float[Array, "B S V"], RouterReport]:
        """Logits of each position's next token, and what the routers did.

        `slots_per_expert` replaces the capacity of the shape; the number of tokens drops nothing.
        """
        shape = self.shape
        slots = capacity(shape, inputs_BS.size) if slots_per_expert is None else slots_per_expert
        seen = sight(segments_BS, positions_BS, valid_BS, shape, self.embedding.dtype)

        def layer(x_BSD: Array, of_layer: tuple[Block, Array, Array]) -> tuple[Array, LayerReport]:
            block, full, bias_E = of_layer
            x_BSD = x_BSD + attention_branch(x_BSD, block, *seen.of(full), shape)
            added_BSD, report = expert_branch(x_BSD, block, bias_E, valid_BS, slots, shape)
            return x_BSD + added_BSD, report

        stack = (self.layers, jnp.array(shape.full_layers), router_bias_LE)
        unroll = shape.num_layers if shape.num_layers <= UNROLLED_LAYERS else 1
        x_BSD, reports = lax.scan(layer, self.embed(inputs_BS), stack, unroll=unroll)
        assigned_L = jnp.sum(reports.load_E, axis=1, dtype=jnp.int32)
        return self.read_out(x_BSD), RouterReport(reports.next_bias_E, reports.load_E, reports.dropped, assigned_L)

    def embed(self, inputs_BS: Int[Array, "B S"]) -> Float[Array, "B S D"]:
        """Token ids to the stream, normalised."""
        return rms_norm(self.embedding[inputs_BS], self.embedding_norm, self.shape.norm_eps)

    def read_out(self, x_BSD: Float[Array, "B S D"]) -> Float[Array, "B S V"]:
        """The stream to logits."""
        return rms_norm(x_BSD, self.final_norm, self.shape.norm_eps) @ self.head


def token_losses(
    logits_BSV: Float[Array, "B S V"], targets_BS: Int[Array, "B S"]
) -> tuple[Float[Array, "B S"], Float[Array, "B S"]]:
    """Cross-entropy of every position in nats, and the logarithm of its normaliser; nothing is averaged."""
    wide_BSV = logits_BSV.astype(wide(logits_BSV.dtype))
    log_norm_BS = jax.nn.logsumexp(wide_BSV, axis=-1)
    is_target_BSV = jnp.arange(logits_BSV.shape[-1], dtype=targets_BS.dtype)[None, None] == targets_BS[..., None]
    target_BS = jnp.sum(jnp.where(is_target_BSV, wide_BSV, 0.0), axis=-1)
    return log_norm_BS - target_BS, log_norm_BS


def abstract_model(shape: ModelShape, dtype: jnp.dtype | None = None) -> LanguageModel:
    """The model with `jax.ShapeDtypeStruct` for arrays: names, shapes and dtypes, no memory."""
    return jax.eval_shape(lambda: _zero_model(shape, jnp.dtype(dtype or jnp.float32)))


def init_model(shape: ModelShape, seed: int, dtype: jnp.dtype | None = None) -> LanguageModel:
    """Norm weights one; all else a normal of deviation init_scale/√hidden, cut at three deviations."""
    template = abstract_model(shape, dtype)
    deviation = shape.init_scale / math.sqrt(shape.hidden)
    values = {name: _initial(name, leaf, seed, deviation) for name, leaf in named(template).items()}
    return with_named(template, {name: jnp.asarray(value) for name, value in values.items()})


def _initial(name: str, leaf: jax.ShapeDtypeStruct, seed: int, deviation: float) -> np.ndarray:
    if name.endswith("norm"):
        return np.ones(leaf.shape, leaf.dtype)
    if not name.startswith(LAYERS):
        return (truncated_normal(name, leaf.shape, seed) * deviation).astype(leaf.dtype)
    layers = [truncated_normal(name, leaf.shape[1:], seed, layer) for layer in range(leaf.shape[0])]
    return (np.stack(layers) * deviation).astype(leaf.dtype)


def _zero_model(shape: ModelShape, dtype: jnp.dtype) -> LanguageModel:
    """Every size of the model, in one place."""

    def leaf(*sizes: int) -> Array:
        return jnp.zeros(sizes, dtype)

    L, D, V = shape.num_layers, shape.hidden, shape.vocab
    E, M, F = shape.num_experts, shape.latent_width, shape.expert_width
    NH, KH = shape.num_heads * shape.head_size, shape.num_kv_heads * shape.head_size
    W = shape.num_shared_experts * (D // 2)
    layers = Block(
        attention_norm=leaf(L, D),
        attention=Attention(q=leaf(L, D, NH), k=leaf(L, D, KH), v=leaf(L, D, KH), o=leaf(L, NH, D)),
        mlp_norm=leaf(L, D),
        router=leaf(L, D, E),
        latent=Latent(down=leaf(L, D, M), norm=leaf(L, M), up=leaf(L, M, D)),
        experts=Experts(gate=leaf(L, E, M, F), up=leaf(L, E, M, F), down=leaf(L, E, F, M)),
        shared=Shared(gate=leaf(L, D, W), up=leaf(L, D, W), down=leaf(L, W, D)),
    )
    return LanguageModel(leaf(V, D), leaf(D), layers, leaf(D), leaf(D, V), shape)
