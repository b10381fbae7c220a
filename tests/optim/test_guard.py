"""`fanal/optim/guard.py`: what is skipped and what is remembered."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.guard import (
    APPLIED,
    NO_SCORED_TOKENS,
    NON_FINITE,
    REASONS,
    SPIKE,
    GuardState,
    all_finite,
    choose,
    init_guard,
    judge,
    loss_limit,
    remember,
)
from fanal.record.events import check_event
from tests.tolerances import EXACT, assert_close
from tests.worlds.model import OPTIMIZER

YES, NO = jnp.array(True), jnp.array(False)


def history(*losses: float, size: int = 4) -> GuardState:
    state = init_guard(replace(OPTIMIZER, spike_history=size), jnp.dtype("float32"), jnp.dtype("int32"))
    for loss in losses:
        state = remember(state, jnp.float32(loss))
    return state


@pytest.mark.parametrize("num_losses", [0, 1, 3])
def test_there_is_no_limit_before_the_history_is_full(num_losses: int) -> None:
    assert loss_limit(history(*[3.0] * num_losses), 6.0) == jnp.inf


def test_the_limit_reads_the_last_accepted_losses_only() -> None:
    assert float(loss_limit(history(9.0, 9.0, 1.0, 2.0, 3.0, 4.0), 2.0)) == pytest.approx(
        2.5 + 2 * np.std([1, 2, 3, 4], ddof=1)
    )


@pytest.mark.parametrize("loss", [2.9, 0.1, 7.3])
def test_a_constant_loss_is_never_a_spike(loss: float) -> None:
    state = history(*[loss] * 20, size=20)
    limit = loss_limit(state, 6.0)
    assert int(judge(jnp.float32(loss), jnp.int32(5), YES, limit)) == APPLIED


def test_a_history_of_one_has_no_deviation() -> None:
    assert float(loss_limit(history(3.0, size=1), 6.0)) == 3.0


@pytest.mark.parametrize(
    ("loss", "scored", "finite", "code"),
    [
        (3.0, 5, YES, APPLIED),
        (3.5, 5, YES, APPLIED),
        (3.6, 5, YES, SPIKE),
        (np.nan, 5, YES, NON_FINITE),
        (np.inf, 5, YES, NON_FINITE),
        (-np.inf, 5, YES, NON_FINITE),
        (3.0, 5, NO, NON_FINITE),
        (0.0, 0, YES, NO_SCORED_TOKENS),
        (0.0, 0, NO, NO_SCORED_TOKENS),
    ],
)
def test_each_reason_has_its_code(loss: float, scored: int, finite: jnp.ndarray, code: int) -> None:
    assert int(judge(jnp.float32(loss), jnp.int32(scored), finite, jnp.float32(3.5))) == code


def test_an_infinite_loss_is_not_accepted_where_there_is_no_limit_yet() -> None:
    assert int(judge(jnp.float32(np.inf), jnp.int32(5), YES, jnp.float32(np.inf))) == NON_FINITE


@pytest.mark.parametrize("reason", REASONS[1:])
def test_reasons_are_words_of_the_skip_event(reason: str) -> None:
    check_event("skip", {"reason": reason, "loss": 3.0, "limit": 2.0})


def test_choosing_takes_one_side_whole_bit_for_bit() -> None:
    before = {"a": jnp.array([1.0, -0.0]), "b": jnp.int32(3)}
    candidate = {"a": jnp.array([np.nan, np.inf]), "b": jnp.int32(4)}
    for name, leaf in before.items():
        assert_close(choose(YES, before, candidate)[name], leaf, EXACT)
        assert_close(choose(NO, before, candidate)[name], candidate[name], EXACT)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_number_anywhere_is_found(bad: float) -> None:
    tree = {"a": jnp.ones((3, 4)), "b": (jnp.ones(5), jnp.int32(1))}
    assert bool(all_finite(tree))
    assert not bool(all_finite(tree | {"b": (jnp.ones(5).at[3].set(bad), jnp.int32(1))}))
