"""The whole step beside its second writing: three steps, float64, 1e-9, every leaf; and each part shows."""

from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.names import named
from fanal.train.loss import StepBatch, objective
from fanal.train.state import TrainState
from fanal.train.step import make_step, rate_frac
from tests.reference import model, optim, tape
from tests.reference.model import World
from tests.tolerances import REASSOCIATED, assert_close
from tests.worlds.model import QUICK, forward, lively_state, small_batch, small_run

CLOSE = REASSOCIATED["float64"]
RUN = small_run()
PLAN = asdict(RUN.optimizer)
BATCHES = (small_batch(0), small_batch(1, padded=True), small_batch(2))


def plain(batch: StepBatch) -> dict[str, np.ndarray]:
    return {name.removesuffix("_BS"): np.asarray(value) for name, value in vars(batch).items()}


def arrays(tree: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(leaf) for name, leaf in named(tree).items()}


def reference_world(params: dict[str, np.ndarray], batch: StepBatch, *removed: str) -> World:
    return World(params, plain(batch), asdict(RUN.model), without=frozenset(removed))


def reference_gradient(world: World, bias_LE: np.ndarray, decided: model.Decisions) -> dict[str, np.ndarray]:
    leaves = {name: tape.Traced(leaf) for name, leaf in world.params.items()}
    logits, _ = model.forward(replace(world, params=leaves, xp=tape), bias_LE, decided)
    cross, z, _ = model.loss(logits, world.batch, PLAN["z_loss"], tape)
    return tape.gradient(cross + z, leaves)


@partial(jax.jit, compiler_options=QUICK)
def everything(state: TrainState, batch: StepBatch) -> tuple[Any, ...]:
    """Logits, parts of the loss, gradient, next state and report of one step, in one program."""
    logits, _ = forward(state.model, batch, state.router_bias_LE)
    gradient, (losses, _) = jax.grad(objective, has_aux=True)(
        state.model, batch, state.router_bias_LE, RUN.optimizer.z_loss
    )
    return logits, losses, gradient, *make_step(RUN)(state, batch)


@cache
def first_step() -> tuple[TrainState, tuple[Any, ...]]:
    state = lively_state(RUN, jnp.dtype("float64"))
    return state, everything(state, BATCHES[0])


def test_three_steps_agree_with_the_second_writing_to_1e_9() -> None:
    state = lively_state(RUN, jnp.dtype("float64"))
    params, bias_LE = arrays(state.model), np.asarray(state.router_bias_LE)
    moments = ({n: np.asarray(a) for n, a in state.moments.first.items()}, dict(arrays(state.moments.second)))
    dropped, empty = 0, 0
    for step, batch in enumerate(BATCHES):
        logits, losses, gradient, state, report = everything(state, batch)
        world = reference_world(params, batch)
        expected, decisions = model.forward(world, bias_LE)
        cross, z, scored = model.loss(expected, world.batch, PLAN["z_loss"])
        grads = reference_gradient(world, bias_LE, decisions)
        valid = list(world.batch["valid"].ravel())
        bias_LE = np.stack([optim.next_bias(rows, valid, RUN.model.experts_per_token) for rows in decisions.margins])
        frac = optim.rate_frac((step + 1) * RUN.batch_tokens, RUN.tokens, PLAN)
        params, *moments = optim.update(params, grads, moments, (step + 1, frac), PLAN)

        assert_close(logits.reshape(-1, RUN.model.vocab), expected, CLOSE, f"step {step} logits")
        assert_close([losses.cross_entropy, losses.z_loss, losses.scored], [cross, z, scored], CLOSE, "losses")
        for name, leaf in arrays(gradient).items():
            assert_close(leaf, grads[name], CLOSE, f"step {step} gradient of {name}")
        assert_close(state.router_bias_LE, bias_LE, CLOSE, f"step {step} router bias")
        assert_close(report.lr_frac, frac, CLOSE, "rate")
        for name, leaf in arrays(state.model).items():
            assert_close(leaf, params[name], CLOSE, f"step {step} {name}")
        for kind, found, kept in zip(
            ("first", "second"), (state.moments.first, state.moments.second), moments, strict=True
        ):
            for name, leaf in found.items():
                assert_close(leaf, kept[name], CLOSE, f"step {step} {kind} moment of {name}")
        assert int(report.reason) == 0
        dropped += int(report.routers.dropped_L.sum())
        empty += int((report.routers.load_LE == 0).sum())
    assert dropped > 0, "the world must drop a token"
    assert empty > 0, "the world must leave an expert empty"


@pytest.mark.parametrize("part", [p for p in model.PARTS if p not in model.PADDING])
def test_each_part_of_the_forward_pass_shows(part: str) -> None:
    state, (logits, *_) = first_step()
    bias_LE = np.asarray(state.router_bias_LE)
    without, _ = model.forward(reference_world(arrays(state.model), BATCHES[0], part), bias_LE)
    assert np.abs(np.asarray(logits).reshape(-1, RUN.model.vocab) - without).max() > 1e-4


@pytest.mark.parametrize("part", model.PADDING)
def test_each_rule_of_padding_shows(part: str) -> None:
    state = lively_state(RUN, jnp.dtype("float64"))
    params, bias_LE = arrays(state.model), np.asarray(state.router_bias_LE)
    whole, _ = model.forward(reference_world(params, BATCHES[1]), bias_LE)
    without, _ = model.forward(reference_world(params, BATCHES[1], part), bias_LE)
    assert np.abs(np.array(whole) - np.array(without)).max() > 1e-4


@pytest.mark.parametrize("part", optim.BALANCING)
def test_each_part_of_the_balancing_shows(part: str) -> None:
    state = lively_state(RUN, jnp.dtype("float64"))
    world = reference_world(arrays(state.model), BATCHES[1])
    _, decisions = model.forward(world, np.asarray(state.router_bias_LE))
    valid, top = list(world.batch["valid"].ravel()), RUN.model.experts_per_token
    _, _, _, after, _ = everything(state, BATCHES[1])
    without = [optim.next_bias(rows, valid, top, frozenset({part})) for rows in decisions.margins]
    assert np.abs(np.asarray(after.router_bias_LE) - without).max() > 1e-4


@pytest.mark.parametrize("part", optim.UPDATE)
def test_each_part_of_the_optimizers_shows(part: str) -> None:
    state, (_, _, gradient, after, report) = first_step()
    moments = ({n: np.asarray(a) for n, a in kind.items()} for kind in (state.moments.first, state.moments.second))
    clock = (1, float(report.lr_frac))
    params, grads = arrays(state.model), arrays(gradient)
    without, *_ = optim.update(params, grads, tuple(moments), clock, PLAN, frozenset({part}))
    gaps = [np.abs(leaf - without[name]).max() for name, leaf in arrays(after.model).items()]
    assert max(gaps) > 1e-5


@pytest.mark.parametrize(("part", "step"), [("warmup", 0), ("decay", 8)])
def test_each_part_of_the_schedule_shows(part: str, step: int) -> None:
    seqs = (step + 1) * RUN.batch_seqs
    found = float(rate_frac(RUN, jnp.asarray(seqs), jnp.dtype("float64")))
    tokens = seqs * RUN.seq_tokens
    assert_close(found, optim.rate_frac(tokens, RUN.tokens, PLAN), CLOSE)
    assert abs(found - optim.rate_frac(tokens, RUN.tokens, PLAN, frozenset({part}))) > 0.1
