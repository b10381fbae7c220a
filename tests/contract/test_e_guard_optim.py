"""Class E, one device: spikes, NaN and overflow."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.names import scaled_norm2
from fanal.optim.adam import AdamMoments, adam_direction
from fanal.optim.groups import Moments, init_moments, update_all
from fanal.optim.guard import (
    APPLIED,
    NON_FINITE,
    SPIKE,
    GuardState,
    all_finite,
    choose,
    init_guard,
    judge,
    loss_limit,
    remember,
)
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import OPTIMIZER, QUICK

PLAN = replace(OPTIMIZER, spike_history=20, spike_factor=6.0)
YES, SCORED = jnp.array(True), jnp.int32(5)


Leaves = dict[str, jax.Array]


@partial(jax.jit, compiler_options=QUICK)
def first_update(params: Leaves, grads: Leaves) -> tuple[Leaves, Moments]:
    return update_all(params, grads, init_moments(params), jnp.int32(0), jnp.float32(1), PLAN)


def history(losses: list[float]) -> GuardState:
    state = init_guard(PLAN, jnp.dtype("float32"), jnp.dtype("int32"))
    for loss in losses:
        state = remember(state, jnp.float32(loss))
    return state


@pytest.mark.parametrize(("loss", "code"), [(3.2, APPLIED), (3.7, SPIKE)])
def test_e1_the_limit_is_above_the_mean_by_the_deviations(loss: float, code: int) -> None:
    limit = loss_limit(history([2.9, 3.1] * 10), PLAN.spike_factor)
    assert float(limit) == pytest.approx(3.0 + 6 * 0.1026, abs=1e-4)
    assert float(limit) == pytest.approx(3.616, abs=1e-3)
    assert int(judge(jnp.float32(loss), SCORED, YES, limit)) == code


def test_e2_a_skip_leaves_weight_moments_and_count_bitwise() -> None:
    plan = replace(PLAN, beta1=0.9, beta2=0.95, adam_eps=0.0)
    rate, decay = 0.01, 0.1

    def adamw(w, moments, count, gradient):
        direction, moments = adam_direction(gradient, moments, (count + 1).astype(w.dtype), plan)
        return w - rate * (direction + decay * w), moments, count + 1

    start = (jnp.ones(1), AdamMoments(jnp.zeros(1), jnp.zeros(1)), jnp.int32(0))
    before = adamw(*start, jnp.ones(1))
    assert [float(before[0][0]), *(float(m[0]) for m in before[1])] == pytest.approx([0.989, 0.1, 0.05])
    by_zero = adamw(*before, jnp.zeros(1))
    assert [*(float(m[0]) for m in by_zero[1])] == pytest.approx([0.09, 0.0475])
    assert int(by_zero[2]) == 2
    assert float(by_zero[0][0] - before[0][0]) == pytest.approx(-0.00778, abs=1e-5)
    kept = choose(jnp.array(True), before, by_zero)
    assert_close(kept[0], before[0], EXACT)
    assert_close(kept[1].first, before[1].first, EXACT)
    assert_close(kept[1].second, before[1].second, EXACT)
    assert int(kept[2]) == 1


def test_e3_a_nan_is_skipped_as_non_finite_and_never_remembered() -> None:
    weight, state, codes = jnp.ones(2), init_guard(PLAN, jnp.dtype("float32"), jnp.dtype("int32")), []
    for loss in [3.0] * 20 + [float("nan"), 3.0]:
        candidate = (weight - 0.01 * jnp.float32(loss), remember(state, jnp.float32(loss)))
        code = judge(jnp.float32(loss), SCORED, YES, loss_limit(state, PLAN.spike_factor))
        weight, state = choose(code != 0, (weight, state), candidate)
        codes.append(int(code))
        assert jnp.isfinite(weight).all()
        if len(codes) == 21:
            assert_close(state.losses_X, np.full(20, 3.0, np.float32), EXACT)
            assert int(state.accepted) == 20
    assert codes == [APPLIED] * 20 + [NON_FINITE, APPLIED]


def test_e5_a_gradient_too_large_to_square_has_a_norm() -> None:
    gradient = jnp.array([1e20, 1e20], jnp.float32)
    scale, norm2 = scaled_norm2({"embedding": gradient})
    assert float(scale) * float(norm2.sum()) ** 0.5 == pytest.approx(1.41421e20, rel=1e-5)
    assert float(jnp.sum(gradient**2)) == float("inf")


def test_e5_adam_cannot_take_it_and_the_skip_is_counted() -> None:
    params = {"embedding": jnp.ones(2)}
    grads = {"embedding": jnp.array([1e20, 1e20], jnp.float32)}
    candidate = first_update(params, grads)
    assert bool(all_finite(grads))
    assert not bool(all_finite(candidate))
    assert int(judge(jnp.float32(3.0), SCORED, all_finite(candidate), jnp.float32(jnp.inf))) == NON_FINITE


def test_e5_muonh_takes_it_as_it_takes_a_small_one() -> None:
    params = {"layers/attention/q": jnp.arange(9.0).reshape(1, 3, 3)}
    gradient = jnp.arange(8.0, -1.0, -1.0).reshape(1, 3, 3) ** 2
    moves = []
    for size in (1.0, 1e20):
        grads = {"layers/attention/q": gradient * size}
        new, moments = first_update(params, grads)
        assert bool(all_finite((new, moments)))
        moves.append(new["layers/attention/q"] - params["layers/attention/q"])
    assert float(jnp.abs(moves[0]).max()) > 0.01
    assert_close(moves[1], moves[0], REASSOCIATED["float32"])
