"""`fanal/train/report.py`: the record's names and hand-checked numbers."""

import math
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.names import named
from fanal.record import metrics
from fanal.train.report import entropy, report_metrics, skip_reason
from fanal.train.state import TrainState
from fanal.train.step import StepReport
from tests.worlds.model import ALL_SLOTS, compiled_step, lively_state, small_batch, small_run

RUN = small_run()


@cache
def one_step() -> tuple[TrainState, TrainState, StepReport]:
    before = lively_state(RUN)
    return before, *compiled_step(RUN)(before, small_batch())


def row(with_norms: bool = True) -> dict[str, float]:
    return report_metrics(one_step()[2], RUN, with_norms=with_norms)


def squares(leaf: jax.Array) -> float:
    return float(np.square(np.asarray(leaf, np.float64)).sum())


def test_every_key_is_described_and_every_value_a_number() -> None:
    for key, value in row().items():
        assert metrics.describe(key), key
        assert type(value) in (int, float), key


def test_norms_are_there_only_when_asked() -> None:
    assert {key for key in row() if key not in row(with_norms=False)} == {key for key in row() if "norm2/" in key}
    assert any("norm2/" in key for key in row())


def test_counts_are_those_of_the_batch() -> None:
    scored = int(small_batch().scored_BS.sum())
    values = row()
    assert values[metrics.TRAIN_TOKENS] == ALL_SLOTS
    assert values[metrics.TRAIN_SCORED_TOKENS] == scored
    assert values[metrics.TRAIN_UPDATES] == 1
    assert values[metrics.TRAIN_SKIPPED] == 0
    assert values[metrics.LR_MUONH] == pytest.approx(0.5 * RUN.optimizer.muonh_lr)


@pytest.mark.parametrize("kind", ["param", "grad"])
def test_squared_norms_of_all_groups_add_up_to_the_norm(kind: str) -> None:
    values = row()
    groups = [v for key, v in values.items() if key.startswith(f"norm2/{kind}/") and "router_bias" not in key]
    norm = values[metrics.TRAIN_PARAM_NORM if kind == "param" else metrics.TRAIN_GRAD_NORM]
    assert math.fsum(groups) == pytest.approx(norm**2, rel=1e-6)


def test_squared_norms_are_those_of_the_leaves_before_the_step_and_of_their_change() -> None:
    before, after, _ = one_step()
    values = row()
    gate = [state.model.layers.experts.gate[1, 2] for state in (before, after)]
    assert values["norm2/param/layer1/experts/gate/e002"] == pytest.approx(squares(gate[0]), rel=1e-5)
    assert values["norm2/update/layer1/experts/gate/e002"] == pytest.approx(squares(gate[1] - gate[0]), rel=1e-4)
    bias = [np.asarray(state.router_bias_LE[1]) for state in (before, after)]
    assert values["norm2/param/layer1/router_bias"] == pytest.approx(squares(bias[0]), rel=1e-5)
    assert values["norm2/update/layer1/router_bias"] == pytest.approx(squares(bias[1] - bias[0]), rel=1e-5)
    assert values[metrics.TRAIN_PARAM_NORM] == pytest.approx(
        math.sqrt(sum(map(squares, named(before.model).values()))), rel=1e-5
    )


def test_an_empty_experts_gradient_is_exactly_zero() -> None:
    assert row()["router/load/layer0/e003"] == 0.0
    for matrix in ("gate", "up", "down"):
        assert row()[f"norm2/grad/layer0/experts/{matrix}/e003"] == 0.0


def test_loads_are_shares_of_the_even_share_and_biases_those_that_chose() -> None:
    before, _, report = one_step()
    values, even = row(), ALL_SLOTS * RUN.model.experts_per_token / RUN.model.num_experts
    for layer, expert in np.ndindex(2, 8):
        load = int(report.routers.load_LE[layer, expert])
        assert values[metrics.router_load(layer, expert)] == pytest.approx(load / even)
        assert values[metrics.router_bias(layer, expert)] == float(before.router_bias_LE[layer, expert])
    dropped = int(report.routers.dropped_L[0])
    assert values[metrics.router_dropped(0)] == pytest.approx(dropped / (ALL_SLOTS * 2))
    assert dropped > 0


@pytest.mark.parametrize(
    ("load", "expected"), [([4, 4, 4, 4], math.log(4)), ([8, 0, 0, 0], 0.0), ([1, 3], 0.562335), ([0, 0], 0.0)]
)
def test_entropy_is_that_of_shares_in_nats(load: list[int], expected: float) -> None:
    assert entropy(np.array(load)) == pytest.approx(expected, abs=1e-6)


def test_a_skip_is_named_and_counted() -> None:
    assert skip_reason(one_step()[2]) is None
    _, report = compiled_step(RUN)(lively_state(RUN), small_batch(scored=False))
    assert skip_reason(report) == "no_scored_tokens"
    assert report_metrics(report, RUN, with_norms=False)[metrics.TRAIN_SKIPPED] == 1


def test_a_gradient_whose_square_overflows_has_a_norm() -> None:
    report = one_step()[2]
    huge = replace(report, norms=replace(report.norms, grad_scale=jnp.float32(1e30)))
    values = report_metrics(huge, RUN, with_norms=True)
    assert values[metrics.TRAIN_GRAD_NORM] > 1e30
    assert math.isfinite(values["norm2/grad/head"])
