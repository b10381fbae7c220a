"""Class C, one process: a batch, or a part of it, without scored tokens."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from fanal.record import metrics
from fanal.train.loss import token_mean
from fanal.train.report import report_metrics, skip_reason
from fanal.train.state import named_leaves
from tests.tolerances import EXACT, assert_close
from tests.worlds.model import compiled_step, lively_state, small_batch, small_run

MASKED = jnp.array([[False, False], [True, True]])


def test_c6_a_part_without_scored_tokens_leaves_the_loss_of_the_rest() -> None:
    losses = jnp.array([[jnp.nan, 7.0], [1.0, 3.0]])
    loss, gradient = jax.value_and_grad(partial(token_mean, scored_BS=MASKED))(losses)
    assert float(loss) == 2.0
    assert gradient.tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_c6_nothing_scored_is_loss_zero_no_gradient_no_update_and_counted() -> None:
    run, batch = small_run(), small_batch(scored=False)
    before = lively_state(run)
    after, report = compiled_step(run)(before, batch)
    row = report_metrics(report, run, with_norms=True)
    assert row[metrics.TRAIN_LOSS] == 0.0
    assert row[metrics.TRAIN_GRAD_NORM] == 0.0
    assert row[metrics.TRAIN_SKIPPED] == 1
    assert skip_reason(report) == "no_scored_tokens"
    assert np.isfinite(list(row.values())).all()
    for name, leaf in named_leaves(after).items():
        if name not in ("position", "step"):
            assert_close(leaf, named_leaves(before)[name], EXACT, name)
