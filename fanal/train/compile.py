"""A run's programs, compiled ahead of the first step, and the next run's while this one trains.

Guarantees that runs of one shape (further seeds, other rates) share their programs, and that a program compiled in the
background or found in the persistent cache is the one that would be compiled on the spot. A training step costs 3–6 s
of compilation on two cores, a few tenths of a second where the cache has it. Plans that differ in any other
number of the model, the optimizer or the schedule are compiled separately.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fanal.campaign.derived import RunPlan
from fanal.data.batches import Batch
from fanal.evals.perplexity import ARRAYS, sum_rows
from fanal.model.decode import continue_prompt
from fanal.model.lm import token_losses
from fanal.train.loss import StepBatch
from fanal.train.state import TrainState, init_state
from fanal.train.step import StepReport, make_step


class Rates(NamedTuple):
    """The peak rates of the three optimizers, the only numbers of a plan that a program is told anew."""

    adam_lr: Array
    muonh_lr: Array
    adamh_lr: Array

    @classmethod
    def of(cls, run: RunPlan) -> "Rates":
        return cls(*(jnp.asarray(getattr(run.optimizer, name)) for name in cls._fields))


@dataclass(frozen=True)
class Programs:
    """The compiled programs of one shape."""

    step: Callable[[TrainState, StepBatch, Rates], tuple[TrainState, StepReport]]
    """One training step; the state given is used up."""
    row_nats: Callable[[TrainState, StepBatch], tuple[Array, Array]]
    """`row_nats`, compiled."""
    seconds: float
    """What compiling them took."""


class Compiler:
    """Compiles in one background thread; programs are kept as long as it lives."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fanal-compile")
        self._found: dict[RunPlan, Future[Programs]] = {}

    def ahead(self, run: RunPlan) -> None:
        """Begin to compile a run's programs unless that has begun."""
        key = shape_of(run)
        if key not in self._found:
            self._found[key] = self._pool.submit(compile_programs, key)

    def programs(self, run: RunPlan) -> Programs:
        """A run's programs; waits for them."""
        self.ahead(run)
        return self._found[shape_of(run)].result()

    def close(self) -> None:
        """Drop what has not begun and wait for what has."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def compiling() -> Iterator[Compiler]:
    """A compiler that is closed at the end."""
    compiler = Compiler()
    try:
        yield compiler
    finally:
        compiler.close()


def shape_of(run: RunPlan) -> RunPlan:
    """The plan without what no program depends on: id, seed, peak rates, and when things are measured."""
    run = replace(run, optimizer=replace(run.optimizer, adam_lr=0.0, muonh_lr=0.0, adamh_lr=0.0))
    return replace(
        run, run="", role="", seed=0, pulse_steps=(), full_steps=(), sample_steps=(), checkpoint_steps=(), laws=()
    )


def compile_programs(run: RunPlan) -> Programs:
    """Trace, lower and compile the programs of a plan for its batch."""
    began = time.monotonic()
    state = init_state(run)
    step = compile_step(run, state)
    scores = jax.jit(row_nats).lower(state, _empty_batch(run)).compile()
    continue_prompt(state.model, state.router_bias_LE, [0], 1, buffer_tokens=run.seq_tokens)  # kept in its own cache
    return Programs(step, scores, time.monotonic() - began)


def compile_step(run: RunPlan, state: TrainState) -> Callable[[TrainState, StepBatch, Rates], Any]:
    """The step alone, which is most of it; `state` gives shapes and dtypes."""
    step = jax.jit(partial(told_step, run), donate_argnums=0)
    return step.lower(state, _empty_batch(run), Rates.of(run)).compile()


def told_step(run: RunPlan, state: TrainState, batch: StepBatch, rates: Rates) -> tuple[TrainState, StepReport]:
    """The step of `run` at these peak rates, so that a sweep over rates compiles once."""
    told: dict[str, Any] = rates._asdict()
    return make_step(replace(run, optimizer=replace(run.optimizer, **told)))(state, batch)


def arrays_of(batch: Batch) -> StepBatch:
    """A batch's arrays as the programs take them; the call moves them, faster than any move before it."""
    on_host: list[Any] = [getattr(batch, name) for name in ARRAYS]
    return StepBatch(*on_host)


def row_nats(state: TrainState, batch: StepBatch) -> tuple[Float[Array, " B"], Int[Array, " B"]]:
    """Nats and scored tokens of each row; every expert has a slot for every token, so that no row takes another's."""
    logits_BSV, _ = state.model.forward(
        batch.inputs_BS,
        batch.segments_BS,
        batch.positions_BS,
        batch.valid_BS,
        state.router_bias_LE,
        slots_per_expert=batch.inputs_BS.size,
    )
    losses_BS, _ = token_losses(logits_BSV, batch.targets_BS)
    return sum_rows(losses_BS, batch.scored_BS)


def _empty_batch(run: RunPlan) -> StepBatch:
    sizes = (run.batch_seqs, run.seq_tokens)
    ids, flags = np.zeros(sizes, np.int32), np.zeros(sizes, np.bool_)
    return arrays_of(Batch(ids, ids, ids, ids, flags, flags, 0, ()))
