"""A step's report as metrics under the record's names, in one transfer from device to host.

Squared norms are rescaled in Python floats, so that gradients of 1e20 have a number; all other values are what the
step computed. Rows without norms cost a few hundred numbers a layer less.
"""

import math
from functools import cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from fanal.campaign.derived import ModelShape, RunPlan
from fanal.model.lm import abstract_model
from fanal.model.names import leaf_names, router_bias_names
from fanal.optim.guard import REASONS
from fanal.record import metrics
from fanal.train.step import Norms, StepReport


def skip_reason(report: StepReport) -> str | None:
    """Why the update was skipped, in the words of the `skip` event, or None."""
    code = int(report.reason)
    return REASONS[code] if code else None


def report_metrics(report: StepReport, run: RunPlan, *, with_norms: bool) -> dict[str, float]:
    """Everything one step says of itself, by the names of `record/metrics.py`; `report` may still be on the device."""
    host: StepReport = jax.device_get(report)
    plan, frac = run.optimizer, float(host.lr_frac)
    values = {
        metrics.TRAIN_LOSS: float(host.losses.cross_entropy),
        metrics.TRAIN_Z_LOSS: float(host.losses.z_loss),
        metrics.TRAIN_TOKENS: int(host.position) * run.seq_tokens,
        metrics.TRAIN_SCORED_TOKENS: int(host.losses.scored),
        metrics.TRAIN_UPDATES: int(host.updates),
        metrics.TRAIN_SKIPPED: int(host.reason != 0),
        metrics.TRAIN_GRAD_NORM: grad_norm(host.norms),
        metrics.TRAIN_PARAM_NORM: math.sqrt(float(np.sum(host.norms.param_X, dtype=np.float64))),
        metrics.LR_ADAM: plan.adam_lr * frac,
        metrics.LR_MUONH: plan.muonh_lr * frac,
        metrics.LR_ADAMH: plan.adamh_lr * frac,
    }
    values |= _router_metrics(host)
    return values | _norm_metrics(host.norms, run) if with_norms else values


def grad_norm(norms: Norms) -> float:
    """The gradient's norm over all trained leaves, on host arrays."""
    return float(norms.grad_scale) * math.sqrt(float(np.sum(norms.grad_X, dtype=np.float64)))


def entropy(load_E: Int[np.ndarray, " E"]) -> float:
    """Entropy of the shares of a load in nats; 0 where nothing was sent."""
    shares = load_E[load_E > 0] / max(int(load_E.sum()), 1)
    return -float(np.sum(shares * np.log(shares)))


def _router_metrics(host: StepReport) -> dict[str, float]:
    values: dict[str, float] = {}
    num_experts = host.bias_LE.shape[1]
    for layer, load_E in enumerate(host.routers.load_LE):
        assigned = max(int(host.routers.assigned_L[layer]), 1)
        values[metrics.router_entropy(layer)] = entropy(load_E)
        values[metrics.router_dropped(layer)] = int(host.routers.dropped_L[layer]) / assigned
        for expert in range(num_experts):
            values[metrics.router_load(layer, expert)] = int(load_E[expert]) * num_experts / assigned
            values[metrics.router_bias(layer, expert)] = float(host.bias_LE[layer, expert])
    return values


def _norm_metrics(norms: Norms, run: RunPlan) -> dict[str, float]:
    names, biases = _names(run.model)
    square = float(norms.grad_scale) ** 2
    groups: tuple[tuple[str, list[str], Any], ...] = (
        ("param", names, norms.param_X),
        ("grad", names, norms.grad_X.astype(np.float64) * square),
        ("update", names, norms.update_X),
        ("param", biases, norms.bias_L),
        ("update", biases, norms.bias_update_L),
    )
    return {
        metrics.norm2(kind, name): float(v) for kind, of, values in groups for name, v in zip(of, values, strict=True)
    }


@cache
def _names(shape: ModelShape) -> tuple[list[str], list[str]]:
    """Leaf names of a model, and those of its router biases."""
    return leaf_names(abstract_model(shape)), router_bias_names(shape.num_layers)
