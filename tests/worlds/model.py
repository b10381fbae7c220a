"""A model of hidden 16 with 8 experts, its batches, and one compiled step that every test shares.

Widths are all different where the model allows it, so that a swapped axis shows. A batch holds two documents in
each sequence; `padded` ends one sequence early.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fanal.campaign.count import count
from fanal.campaign.derived import ModelShape, OptimizerPlan, RunPlan
from fanal.model.lm import LanguageModel
from fanal.model.names import named, with_named
from fanal.train.loss import StepBatch
from fanal.train.state import TrainState, init_state
from fanal.train.step import StepReport, make_step

SEQS, SEQ_TOKENS = 2, 12
QUICK = {"xla_backend_optimization_level": 0}
"""Compiler options of tests: half the time to compile, the same program."""

SHAPE = ModelShape(
    vocab=32,
    hidden=16,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_size=6,
    rotary_size=4,
    rope_theta=100.0,
    window_tokens=4,
    full_every=2,
    qk_scale=1.3,
    num_experts=8,
    experts_per_token=2,
    num_shared_experts=2,
    expert_width=10,
    latent_width=12,
    capacity_factor=1.25,
    router_weight_sum=2.5,
    router_weights="sigmoid_renormalised",
    init_scale=0.5,
    norm_eps=1e-6,
)

OPTIMIZER = OptimizerPlan(
    adam_lr=0.01,
    muonh_lr=0.04,
    adamh_lr=0.03,
    beta1=0.9,
    beta2=0.98,
    adam_eps=1e-9,
    momentum=0.95,
    newton_schulz_steps=5,
    warmup_tokens=2 * SEQS * SEQ_TOKENS,
    final_lr_frac=0.05,
    z_loss=1e-2,
    spike_factor=6.0,
    spike_history=4,
)


def small_run(shape: ModelShape = SHAPE, optimizer: OptimizerPlan = OPTIMIZER, num_steps: int = 10) -> RunPlan:
    """A run of the tiny model."""
    tokens = num_steps * SEQS * SEQ_TOKENS
    return RunPlan(
        run="d16",
        role="rung",
        hidden=shape.hidden,
        seed=0,
        model=shape,
        optimizer=optimizer,
        seq_tokens=SEQ_TOKENS,
        batch_seqs=SEQS,
        num_steps=num_steps,
        tokens=tokens,
        pulse_steps=(),
        full_steps=(),
        sample_steps=(),
        checkpoint_steps=(),
        counts=count(shape, SEQ_TOKENS, tokens),
        laws=(),
    )


def small_batch(seed: int = 0, *, padded: bool = False, scored: bool = True) -> StepBatch:
    """Random tokens, two documents a sequence, the end of each unscored; `padded` makes 3 positions padding."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, SHAPE.vocab, (SEQS, SEQ_TOKENS + 1)).astype(np.int32)
    borders = [5, 8]
    segments, positions = np.zeros((2, SEQS, SEQ_TOKENS), np.int32)
    for row, border in enumerate(borders):
        segments[row, border:] = 1
        positions[row] = [*range(border), *range(SEQ_TOKENS - border)]
    counts = np.full((SEQS, SEQ_TOKENS), scored)
    counts[np.arange(SEQS), np.array(borders) - 1] = False
    valid = np.ones((SEQS, SEQ_TOKENS), bool)
    if padded:
        valid[1, -3:] = counts[1, -3:] = False
    arrays = (rows[:, :-1], rows[:, 1:], segments, positions, counts & valid, valid)
    return StepBatch(*map(jnp.asarray, arrays))


def lively_state(run: RunPlan, dtype: Any = None) -> TrainState:
    """A first state whose norm weights, moments and router bias are not at their plain initial values."""
    state = init_state(run, dtype)
    leaves = {name: _stirred(name, leaf) for name, leaf in named(state).items()}
    return with_named(state, leaves)


def _stirred(name: str, leaf: jax.Array) -> jax.Array:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    draws = rng.normal(size=leaf.shape)
    if name == "router_bias_LE":
        draws[0, 3], draws[1, 5] = -50.0, -50.0  # these experts get no token
        return jnp.asarray(0.3 * draws, leaf.dtype)
    if name.startswith("moments/second"):
        return jnp.asarray(1e-4 * np.square(draws), leaf.dtype)
    if name.startswith("moments/first"):
        return jnp.asarray(1e-2 * draws, leaf.dtype)
    if name.endswith("norm"):
        return leaf + jnp.asarray(0.2 * draws, leaf.dtype)
    if name.startswith("model/"):
        return leaf * 3  # logits far enough from zero that every part shows
    return leaf


Step = Callable[[TrainState, StepBatch], tuple[TrainState, StepReport]]


@cache
def compiled_step(run: RunPlan, dtype: str = "float32") -> Step:
    """One compilation for all tests of a run and a dtype; nothing is donated."""
    del dtype  # part of the key
    with strict():
        return jax.jit(make_step(run), compiler_options=QUICK)


@contextmanager
def strict() -> Iterator[None]:
    """No dtype and no rank is promoted in silence."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def forward(model: LanguageModel, batch: StepBatch, bias_LE: jax.Array, **options: Any) -> Any:
    """Logits and router report of a batch."""
    return model.forward(batch.inputs_BS, batch.segments_BS, batch.positions_BS, batch.valid_BS, bias_LE, **options)


def with_capacity(run: RunPlan, factor: float) -> RunPlan:
    """The run with another capacity factor."""
    return replace(run, model=replace(run.model, capacity_factor=factor))


@cache
def quiet_model() -> LanguageModel:
    """The tiny model with norm weights that are not one."""
    return lively_state(small_run()).model


NO_BIAS = np.zeros((SHAPE.num_layers, SHAPE.num_experts), np.float32)
ALL_SLOTS = SEQS * SEQ_TOKENS
"""Slots per expert with which no token is dropped."""


@partial(jax.jit, static_argnames="slots", compiler_options=QUICK)
def logits_of(model: LanguageModel, batch: StepBatch, bias_LE: jax.Array, slots: int | None = ALL_SLOTS) -> jax.Array:
    """Logits alone, by default with a slot for everyone."""
    return forward(model, batch, bias_LE, slots_per_expert=slots)[0]
