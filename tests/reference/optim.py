"""Quantile balancing, schedule and the three optimizers a second time, in numpy loops over matrices and experts.

Imports nothing from fanal. `without` removes parts by name, as in `model.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

BALANCING = ("zero_mean", "quantile", "padding_uncounted")
SCHEDULE = ("warmup", "decay")
UPDATE = (
    *("nesterov", "momentum", "newton_schulz", "per_expert", "fixed_norm", "rescaled", "head_fixed_norm"),
    *("bias_correction", "second_moment", "adam_norms"),
)
"""Every part that `without` can remove."""

COEFFICIENTS = (3.4445, -4.7750, 2.0315)

Arrays = Mapping[str, np.ndarray]


def next_bias(
    margins: Sequence[np.ndarray], valid: Sequence[bool], top: int, without: frozenset[str] = frozenset()
) -> np.ndarray:
    """Minus each expert's quantile of margins over valid tokens, moved to mean zero."""
    rows = [row for row, real in zip(margins, valid, strict=True) if real or "padding_uncounted" in without]
    num_experts = len(margins[0])
    rank = len(rows) * (num_experts - top) // num_experts
    if "quantile" in without:
        quantiles = np.mean(rows, axis=0)
    else:
        quantiles = np.array([sorted(row[e] for row in rows)[rank] for e in range(num_experts)])
    return (0.0 if "zero_mean" in without else quantiles.mean()) - quantiles


def rate_frac(tokens: int, total: int, plan: Mapping[str, Any], without: frozenset[str] = frozenset()) -> float:
    """Up to 1 at the end of the warm-up, then down in a line to the end value at the last token."""
    warmup, final = plan["warmup_tokens"], plan["final_lr_frac"]
    if tokens < warmup:
        return 1.0 if "warmup" in without else tokens / warmup
    return 1.0 if "decay" in without else 1 - (1 - final) * (tokens - warmup) / (total - warmup)


def group(name: str) -> str:
    """`muonh`, `adamh` or `adam`."""
    if name == "head":
        return "adamh"
    if name.split("/")[-1] in ("q", "k", "v", "o", "gate", "up", "down"):
        return "muonh"
    return "adam"


def newton_schulz(matrix: np.ndarray, steps: int) -> np.ndarray:
    """X ← aX + b(XXᵀ)X + c(XXᵀ)²X from the matrix over its norm, on the shorter side."""
    a, b, c = COEFFICIENTS
    if not matrix.any():
        return matrix
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / np.sqrt((x**2).sum())
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + b * gram @ x + c * gram @ gram @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def fixed_norm(w: np.ndarray, u: np.ndarray, rate: float, without: frozenset[str] = frozenset()) -> np.ndarray:
    """A step of length rate · ‖w‖ along u, then back to ‖w‖."""
    if not u.any():
        return w
    norm = np.sqrt((w**2).sum())
    if "fixed_norm" in without:
        return w - rate * u
    moved = w - rate * norm * u / np.sqrt((u**2).sum())
    return moved if "rescaled" in without else moved * norm / np.sqrt((moved**2).sum())


def muonh(
    w: np.ndarray, g: np.ndarray, m: np.ndarray, rate: float, plan: Mapping[str, Any], without: frozenset[str]
) -> tuple[np.ndarray, np.ndarray]:
    """One matrix and its momentum."""
    decay = 0.0 if "momentum" in without else plan["momentum"]
    m = decay * m + g
    ahead = m if "nesterov" in without else g + decay * m
    u = ahead if "newton_schulz" in without else newton_schulz(ahead, plan["newton_schulz_steps"])
    return fixed_norm(w, u, rate, without), m


def adam(
    g: np.ndarray, m: np.ndarray, v: np.ndarray, update: int, plan: Mapping[str, Any], without: frozenset[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Direction and both moments of one leaf."""
    m = plan["beta1"] * m + (1 - plan["beta1"]) * g
    v = plan["beta2"] * v + (1 - plan["beta2"]) * g**2
    if "bias_correction" in without:
        return m / (np.sqrt(v) + plan["adam_eps"]), m, v
    u = m / (1 - plan["beta1"] ** update)
    if "second_moment" not in without:
        u = u / (np.sqrt(v / (1 - plan["beta2"] ** update)) + plan["adam_eps"])
    return u, m, v


def update(
    params: Arrays,
    grads: Arrays,
    moments: tuple[Arrays, Arrays],
    clock: tuple[int, float],
    plan: Mapping[str, Any],
    without: frozenset[str] = frozenset(),
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Every leaf and its moments after one update; `clock` is the update's number and the rate's fraction."""
    number, frac = clock
    new, first, second = {}, dict(moments[0]), dict(moments[1])
    for name, w in params.items():
        if group(name) == "muonh":
            new[name], first[name] = matrices(
                (w, grads[name], first[name]), name, plan["muonh_lr"] * frac, plan, without
            )
            continue
        u, first[name], second[name] = adam(grads[name], first[name], second[name], number, plan, without)
        if group(name) == "adamh" and "head_fixed_norm" not in without:
            new[name] = fixed_norm(w, u, plan["adamh_lr"] * frac)
        else:
            rate = 0.0 if "adam_norms" in without and name.endswith("norm") else plan["adam_lr"]
            new[name] = w - rate * frac * u
    return new, first, second


def matrices(
    leaf: tuple[np.ndarray, np.ndarray, np.ndarray],
    name: str,
    rate: float,
    plan: Mapping[str, Any],
    without: frozenset[str],
) -> tuple[np.ndarray, np.ndarray]:
    """A stacked leaf, layer by layer, and expert by expert."""
    w, g, m = (array.copy() for array in leaf)
    for layer in range(len(w)):
        if "/experts/" in name and "per_expert" not in without:
            for e in range(w.shape[1]):
                w[layer, e], m[layer, e] = muonh(w[layer, e], g[layer, e], m[layer, e], rate, plan, without)
        else:
            flat = [array[layer].reshape(-1, array.shape[-1]) for array in (w, g, m)]
            moved, kept = muonh(flat[0], flat[1], flat[2], rate, plan, without)
            w[layer], m[layer] = moved.reshape(w[layer].shape), kept.reshape(m[layer].shape)
    return w, m
