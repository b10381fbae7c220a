"""`fanal/train/loss.py`: sums over scored tokens, divided once."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.train.loss import Losses, StepBatch, objective, token_mean
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import NO_BIAS, QUICK, logits_of, quiet_model, small_batch, strict

CLOSE = REASSOCIATED["float32"]


compiled = jax.jit(objective, compiler_options=QUICK)


def parts(batch: StepBatch, factor: float = 1e-2) -> tuple[float, Losses]:
    """The objective of a batch and what it is made of."""
    with strict():
        total, (losses, _) = compiled(quiet_model(), batch, NO_BIAS, jnp.float32(factor))
    return float(total), jax.device_get(losses)


def test_a_token_weighs_the_same_in_whichever_row_it_stands() -> None:
    losses = jnp.array([[2.0, 2.0, 2.0, 9.0], [10.0, 9.0, 9.0, 9.0]])
    scored = jnp.array([[True, True, True, False], [True, False, False, False]])
    assert float(token_mean(losses, scored)) == 4.0


def test_what_is_not_scored_cannot_spoil_the_mean() -> None:
    losses = jnp.array([[1.0, jnp.nan, jnp.inf, 3.0]])
    assert float(token_mean(losses, jnp.array([[True, False, False, True]]))) == 2.0


def test_the_loss_is_the_cross_entropy_alone_and_the_z_loss_has_its_own_name() -> None:
    batch = small_batch()
    total, losses = parts(batch)
    logits = np.asarray(logits_of(quiet_model(), batch, NO_BIAS, None), np.float64)
    scored, targets = np.asarray(batch.scored_BS), np.asarray(batch.targets_BS)
    log_norms = np.log(np.exp(logits).sum(-1))
    nats = log_norms - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    assert_close(losses.cross_entropy, nats[scored].mean(), CLOSE)
    assert_close(losses.z_loss, 1e-2 * np.square(log_norms[scored]).mean(), CLOSE)
    assert_close(total, losses.cross_entropy + losses.z_loss, CLOSE)
    assert int(losses.scored) == scored.sum()


@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_the_z_losss_factor_does_not_move_the_reported_loss(factor: float) -> None:
    total, losses = parts(small_batch(), factor)
    assert_close(losses.cross_entropy, parts(small_batch())[1].cross_entropy, EXACT)
    assert (total == losses.cross_entropy) == (factor == 0.0)


def test_targets_that_are_not_scored_change_nothing() -> None:
    batch = small_batch()
    other = replace(batch, targets_BS=jnp.where(batch.scored_BS, batch.targets_BS, 0))
    assert_close(parts(other)[1].cross_entropy, parts(batch)[1].cross_entropy, EXACT)
