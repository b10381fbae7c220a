"""A model continues a prompt, one token a step, with keys and values kept.

Guarantees the logits of `forward` at every position (to reassociation) with no token dropped, and touches no
training state. The buffer has a fixed length, so one compilation serves every prompt and length of a run. Costs one
pass of a single token a position, prompt included: there is no batching and no parallel prefill.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from fanal.model.attention import attend, project, rotation
from fanal.model.block import Block, expert_branch
from fanal.model.lm import LanguageModel
from fanal.model.norm import rms_norm


@dataclass(frozen=True)
class Sampling:
    """How the next token is taken from the logits."""

    temperature: float = 0.0
    """0 takes the likeliest token; else logits are divided by it and a token is drawn."""
    seed: int = 0
    """Of the draws."""
    stop_token: int | None = 0
    """The continuation ends before this token: the separator of documents."""


class Cache(NamedTuple):
    """Keys and values of the positions so far, by layer; P counts the buffer."""

    k_LPKH: Float[Array, "L P K H"]
    v_LPKH: Float[Array, "L P K H"]


def continue_prompt(
    model: LanguageModel,
    router_bias_LE: Float[Array, "L E"],
    prompt_ids: Sequence[int],
    num_tokens: int,
    sampling: Sampling = Sampling(),
    buffer_tokens: int = 128,
) -> list[int]:
    """Up to `num_tokens` token ids that follow the prompt, which begins a document.

    Raises:
        ValueError: an empty prompt, or a prompt and continuation longer than the buffer.
    """
    total = len(prompt_ids) + num_tokens
    if not prompt_ids or total > buffer_tokens:
        raise ValueError(
            f"prompt and continuation must be 1 to {buffer_tokens} tokens, got {len(prompt_ids)} + {num_tokens}"
        )
    buffer_P = jnp.zeros(buffer_tokens, jnp.int32).at[: len(prompt_ids)].set(jnp.array(prompt_ids, jnp.int32))
    lengths = jnp.array([len(prompt_ids), total], jnp.int32)
    key = jax.random.key(sampling.seed)
    temperature = jnp.asarray(sampling.temperature, model.embedding.dtype)
    written = _write(model, router_bias_LE, buffer_P, lengths, (key, temperature))
    ids = [int(i) for i in jax.device_get(written)[len(prompt_ids) : total]]
    return ids[: ids.index(sampling.stop_token)] if sampling.stop_token in ids else ids


@eqx.filter_jit
def _write(
    model: LanguageModel,
    router_bias_LE: Float[Array, "L E"],
    buffer_P: Int[Array, " P"],
    lengths: Int[Array, "2"],
    draw: tuple[Array, Float[Array, ""]],
) -> Int[Array, " P"]:
    """The buffer, filled from the prompt's end to the total length."""
    key, temperature = draw
    prompt_length, total = lengths

    def one(position: Array, carried: tuple[Array, Cache]) -> tuple[Array, Cache]:
        buffer_P, cache = carried
        logits_V, cache = next_logits(model, router_bias_LE, buffer_P[position], position, cache)
        token = _take(logits_V, jax.random.fold_in(key, position), temperature)
        kept = jnp.where(position + 1 < prompt_length, buffer_P[position + 1], token)
        return buffer_P.at[position + 1].set(kept), cache

    return lax.fori_loop(jnp.int32(0), total - 1, one, (buffer_P, empty_cache(model, buffer_P.size)))[0]


def empty_cache(model: LanguageModel, buffer_tokens: int) -> Cache:
    """Room for the keys and values of a buffer."""
    shape = model.shape
    sizes = (shape.num_layers, buffer_tokens, shape.num_kv_heads, shape.head_size)
    return Cache(jnp.zeros(sizes, model.embedding.dtype), jnp.zeros(sizes, model.embedding.dtype))


def next_logits(
    model: LanguageModel,
    router_bias_LE: Float[Array, "L E"],
    token: Int[Array, ""],
    position: Int[Array, ""],
    cache: Cache,
) -> tuple[Float[Array, " V"], Cache]:
    """Logits of the token that follows `token` at `position`, and the cache with that position in it."""
    shape = model.shape
    turned = rotation(position[None, None], shape, model.embedding.dtype)
    distance_P = position - jnp.arange(cache.k_LPKH.shape[1], dtype=position.dtype)

    def layer(x_11D: Array, of_layer: tuple[Block, Array, Array, Cache]) -> tuple[Array, Cache]:
        block, full, bias_E, (k_PKH, v_PKH) = of_layer
        normed_11D = rms_norm(x_11D, block.attention_norm, shape.norm_eps)
        q_11NH, k_11KH, v_11KH = project(normed_11D, block.attention, turned.unless(full), shape)
        k_PKH, v_PKH = k_PKH.at[position].set(k_11KH[0, 0]), v_PKH.at[position].set(v_11KH[0, 0])
        mask_P = (distance_P >= 0) & (full | (distance_P < shape.window_tokens))
        x_11D = x_11D + attend(q_11NH, k_PKH[None], v_PKH[None], mask_P[None, None]) @ block.attention.o
        added_11D, _ = expert_branch(x_11D, block, bias_E, jnp.ones((1, 1), bool), 1, shape)
        return x_11D + added_11D, Cache(k_PKH, v_PKH)

    stack = (model.layers, jnp.array(shape.full_layers), router_bias_LE, cache)
    x_11D, cache = lax.scan(layer, model.embed(token[None, None]), stack)
    return model.read_out(x_11D)[0, 0], cache


def _take(logits_V: Array, key: Array, temperature: Array) -> Array:
    likeliest = jnp.argmax(logits_V).astype(jnp.int32)
    divisor = jnp.where(temperature > 0, temperature, jnp.ones_like(temperature))
    drawn = jax.random.categorical(key, logits_V / divisor).astype(jnp.int32)
    return jnp.where(temperature > 0, drawn, likeliest)
