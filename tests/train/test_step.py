"""`fanal/train/step.py`: what moves in a step, what a skip leaves, and that it learns."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.guard import NO_SCORED_TOKENS, NON_FINITE, SPIKE
from fanal.train.state import TrainState, named_leaves
from fanal.train.step import StepReport, rate_frac
from tests.tolerances import EXACT, assert_close
from tests.worlds.model import ALL_SLOTS, compiled_step, lively_state, small_batch, small_run

RUN = small_run()
COUNTERS = {"position", "step"}


@cache
def after_steps(num_steps: int) -> tuple[TrainState, tuple[StepReport, ...]]:
    """A state after so many steps on one batch, and their reports."""
    if num_steps == 0:
        return lively_state(RUN), ()
    state, reports = after_steps(num_steps - 1)
    state, report = compiled_step(RUN)(state, small_batch())
    return state, (*reports, report)


def with_history(state: TrainState, *losses: float) -> TrainState:
    guard = replace(state.guard, losses_X=jnp.array(losses, jnp.float32), accepted=jnp.int32(len(losses)))
    return replace(state, guard=guard)


def with_head(state: TrainState, head: jax.Array) -> TrainState:
    return replace(state, model=replace(state.model, head=head))


def skipping(kind: int) -> tuple[TrainState, Any]:
    """A state and a batch whose update is skipped for this reason."""
    state, batch = after_steps(1)[0], small_batch()
    if kind == SPIKE:
        return with_history(state, 0.01, 0.02, 0.01, 0.02), batch
    if kind == NON_FINITE:
        return with_head(state, state.model.head * 1e38), batch
    return state, small_batch(scored=False)


def test_a_step_advances_position_step_and_updates() -> None:
    state, reports = after_steps(3)
    assert [int(x) for x in (state.position, state.step, state.updates, state.guard.accepted)] == [6, 3, 3, 3]
    assert [int(report.position) for report in reports] == [2, 4, 6]
    assert [int(report.updates) for report in reports] == [1, 2, 3]
    losses = [float(report.losses.cross_entropy) for report in reports]
    assert_close(state.guard.losses_X[:3], np.array(losses, np.float32), EXACT)


def test_a_step_is_a_pure_function_of_state_and_batch() -> None:
    step, state = compiled_step(RUN), after_steps(1)[0]
    first, second = step(state, small_batch()), step(state, small_batch())
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert_close(one, other, EXACT)


def test_every_leaf_of_the_model_moves_and_the_router_bias_is_the_reports() -> None:
    before, (after, reports) = after_steps(0)[0], after_steps(1)
    for name, leaf in named_leaves(after).items():
        if name.startswith("model/"):
            assert not np.array_equal(leaf, named_leaves(before)[name]), name
    assert_close(after.router_bias_LE, reports[0].routers.next_bias_LE, EXACT)
    assert_close(reports[0].bias_LE, before.router_bias_LE, EXACT)


def test_it_learns_one_batch_by_heart() -> None:
    _, reports = after_steps(10)
    losses = [float(report.losses.cross_entropy) for report in reports]
    assert losses[-1] < losses[0] - 0.5


@pytest.mark.parametrize("kind", [NON_FINITE, SPIKE, NO_SCORED_TOKENS])
def test_a_skipped_update_advances_position_and_step_and_leaves_the_rest_bitwise(kind: int) -> None:
    before, batch = skipping(kind)
    after, report = compiled_step(RUN)(before, batch)
    assert int(report.reason) == kind
    for name, leaf in named_leaves(after).items():
        if name not in COUNTERS:
            assert_close(leaf, named_leaves(before)[name], EXACT, name)
    assert int(after.position) == int(before.position) + RUN.batch_seqs
    assert int(after.step) == int(before.step) + 1
    assert not report.norms.update_X.any()
    assert not report.norms.bias_update_L.any()


def test_training_goes_on_after_a_skip_as_if_only_data_had_passed() -> None:
    before, batch = skipping(NO_SCORED_TOKENS)
    skipped, _ = compiled_step(RUN)(before, batch)
    later, report = compiled_step(RUN)(skipped, small_batch())
    assert int(report.reason) == 0
    assert (int(later.step), int(later.updates), int(later.position)) == (3, 2, 6)


@pytest.mark.parametrize(("counter", "matters"), [("step", False), ("updates", True), ("position", True)])
def test_the_update_reads_updates_applied_and_tokens_drawn_and_not_steps_attempted(counter: str, matters: bool) -> None:
    state = after_steps(2)[0]
    later = replace(state, **{counter: jnp.int32(7)})
    heads = [compiled_step(RUN)(s, small_batch())[0].model.head for s in (state, later)]
    assert np.array_equal(*heads) != matters


def test_a_candidate_state_that_is_not_finite_is_skipped_with_a_finite_loss() -> None:
    state = after_steps(1)[0]
    first = state.moments.first | {"embedding": jnp.full_like(state.moments.first["embedding"], 3e38)}
    second = state.moments.second | {"embedding": jnp.full_like(state.moments.second["embedding"], np.inf)}
    before = replace(state, moments=replace(state.moments, first=first, second=second))
    _, report = compiled_step(RUN)(before, small_batch())
    assert np.isfinite(report.losses.cross_entropy)
    assert int(report.reason) == NON_FINITE


def test_a_batch_without_scored_tokens_has_loss_and_gradient_zero() -> None:
    before, batch = skipping(NO_SCORED_TOKENS)
    _, report = compiled_step(RUN)(before, batch)
    assert float(report.losses.cross_entropy) == float(report.losses.z_loss) == 0.0
    assert not report.norms.grad_X.any()


def test_the_rate_follows_tokens_drawn_this_batch_included() -> None:
    fracs = [float(report.lr_frac) for report in after_steps(3)[1]]
    assert fracs == pytest.approx([0.5, 1.0, 1 - 0.95 / 8])
    last = rate_frac(RUN, jnp.int32(RUN.num_steps * RUN.batch_seqs), jnp.dtype("float32"))
    assert float(last) == pytest.approx(RUN.optimizer.final_lr_frac)


def test_the_rate_of_a_run_of_trillions_of_tokens_does_not_wrap() -> None:
    huge = replace(RUN, seq_tokens=4096, tokens=8 * 10**12, num_steps=1)
    assert float(rate_frac(huge, jnp.int32(2**30), jnp.dtype("float32"))) == pytest.approx(
        1 - 0.95 * 2**42 / 8e12, rel=1e-5
    )


def test_loads_of_a_batch_add_up_to_its_assignments() -> None:
    report = after_steps(1)[1][0]
    assert report.routers.assigned_L.tolist() == [ALL_SLOTS * RUN.model.experts_per_token] * RUN.model.num_layers
    assert report.routers.load_LE.sum(axis=1).tolist() == report.routers.assigned_L.tolist()


ANNOTATED = """
import jax
from jaxtyping import install_import_hook
train = [f"fanal.train.{name}" for name in ("loss", "state", "step")]
with install_import_hook(["fanal.model", "fanal.optim", *train], "beartype.beartype"):
    from tests.worlds.model import forward, lively_state, small_batch, small_run, strict
    from fanal.train.step import make_step
    from fanal.model.decode import empty_cache, next_logits
run = small_run()
state = lively_state(run)
with strict():
    jax.eval_shape(make_step(run), state, small_batch())
    token, cache = jax.numpy.int32(1), empty_cache(state.model, 8)
    jax.eval_shape(next_logits, state.model, state.router_bias_LE, token, token, cache)
print("checked", hasattr(make_step, "__wrapped__"))
"""


def test_every_annotation_holds_in_a_step_and_a_continuation() -> None:
    done = subprocess.run([sys.executable, "-c", ANNOTATED], capture_output=True, text=True)
    assert done.stdout == "checked True\n", done.stderr[-2000:]
