"""The forward pass a second time: plain loops over sequences, tokens, heads and experts, in float64.

Imports nothing from fanal and no JAX. Parameters are a mapping from stacked names to arrays, sizes a mapping. `xp` is
numpy, or `tape` for gradients; then the decisions of the routers, which have none, are given.
`without` removes parts of the recipe by name, so that a test can show that each of them shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

NORMS = ("embedding_norm", "attention_norm", "mlp_norm", "final_norm", "latent_norm", "qk_norm")
ATTENTION = ("qk_scale", "score_scale", "rotary", "partial_rotary", "half_split", "grouped_heads", "attention_residual")
SIGHT = ("window", "full_layers", "full_without_positions", "document_mask", "causal")
EXPERTS = ("experts", "shared_experts", "gate", "latent_up", "capacity")
ROUTER = ("sigmoid", "unbiased_weights", "biased_choice", "renormalised", "weight_sum")
PADDING = ("padding_mask", "padding_slots")
PARTS = (*NORMS, *ATTENTION, *SIGHT, *EXPERTS, *ROUTER, *PADDING)
"""Every part that `without` can remove."""


@dataclass
class Decisions:
    """What the routers chose, by layer and token; and what follows from it."""

    chosen: list[list[list[int]]] = field(default_factory=list)
    kept: list[list[list[bool]]] = field(default_factory=list)
    margins: list[list[np.ndarray]] = field(default_factory=list)
    """Unbiased logits minus the (A+1)-th biased one, by layer and token."""


@dataclass(frozen=True)
class World:
    """What all functions need."""

    params: Mapping[str, Any]
    batch: Mapping[str, np.ndarray]
    sizes: Mapping[str, Any]
    xp: Any = np
    without: frozenset[str] = frozenset()

    def has(self, part: str) -> bool:
        assert part in PARTS
        return part not in self.without

    def layer(self, name: str, layer: int) -> Any:
        return self.params[f"layers/{name}"][layer]

    @property
    def tokens(self) -> list[tuple[int, int]]:
        """(sequence, place) of every token, in order."""
        return [(b, s) for b, row in enumerate(self.batch["inputs"]) for s in range(len(row))]


def forward(world: World, bias_LE: np.ndarray, decided: Decisions | None = None) -> tuple[list[Any], Decisions]:
    """Logits of every token in order, and the routers' decisions."""
    params = world.params
    stream: dict[tuple[int, int], Any] = {}
    for b, s in world.tokens:
        row = params["embedding"][int(world.batch["inputs"][b][s])]
        stream[b, s] = normed(world, row, params["embedding_norm"], "embedding_norm")
    decisions = Decisions()
    for layer in range(world.sizes["num_layers"]):
        added = attention(world, stream, layer)
        keep = 1 if world.has("attention_residual") else 0
        stream = {at: keep * x + added[at] for at, x in stream.items()}
        given = (decided.chosen[layer], decided.kept[layer]) if decided else None
        added = experts(world, stream, layer, bias_LE[layer], decisions, given)
        stream = {at: x + added[at] for at, x in stream.items()}
    logits = [normed(world, stream[at], params["final_norm"], "final_norm") @ params["head"] for at in world.tokens]
    return logits, decisions


def normed(world: World, x: Any, weight: Any, part: str) -> Any:
    """x / √(mean x² + eps) · weight."""
    if not world.has(part):
        return x
    unit = x / world.xp.sqrt(world.xp.mean(x * x) + world.sizes["norm_eps"])
    return unit if weight is None else unit * weight


def attention(world: World, stream: Mapping[tuple[int, int], Any], layer: int) -> dict[tuple[int, int], Any]:
    """What attention adds to each token."""
    sizes, xp = world.sizes, world.xp
    size, heads, groups = sizes["head_size"], sizes["num_heads"], sizes["num_kv_heads"]
    full = is_full(world, layer)
    queries, keys, values = {}, {}, {}
    for at, x in stream.items():
        h = normed(world, x, world.layer("attention_norm", layer), "attention_norm")
        place = int(world.batch["positions"][at])
        scale = sizes["qk_scale"] if world.has("qk_scale") else 1.0
        turn = not (full and world.has("full_without_positions"))
        for name, count, out, factor in (("q", heads, queries, scale), ("k", groups, keys, 1.0)):
            rows = [(h @ world.layer(f"attention/{name}", layer))[n * size : (n + 1) * size] for n in range(count)]
            rows = [normed(world, row, None, "qk_norm") * factor for row in rows]
            out[at] = [rotated(world, row, place) if turn else row for row in rows]
        values[at] = [(h @ world.layer("attention/v", layer))[n * size : (n + 1) * size] for n in range(groups)]
    added = {}
    for b, s in stream:
        parts = []
        for n in range(heads):
            g = n // (heads // groups) if world.has("grouped_heads") else n % groups
            seen = [(b, j) for j in range(len(world.batch["inputs"][b])) if sees(world, b, s, j, full)]
            scores = xp.stack([xp.sum(queries[b, s][n] * keys[at][g]) for at in seen])
            scores = scores / size**0.5 if world.has("score_scale") else scores
            weights = xp.exp(scores - xp.max(scores))
            weights = weights / xp.sum(weights)
            parts.append(sum(weights[i] * values[at][g] for i, at in enumerate(seen)))
        added[b, s] = xp.concatenate(parts) @ world.layer("attention/o", layer)
    return added


def is_full(world: World, layer: int) -> bool:
    """Every n-th layer, and the last."""
    if not world.has("full_layers"):
        return False
    return (layer + 1) % world.sizes["full_every"] == 0 or layer == world.sizes["num_layers"] - 1


def sees(world: World, b: int, i: int, j: int, full: bool) -> bool:
    """Whether place i of sequence b sees place j."""
    batch = world.batch
    if world.has("causal") and j > i:
        return False
    if world.has("window") and not full and i - j >= world.sizes["window_tokens"]:
        return False
    if world.has("document_mask") and batch["segments"][b][i] != batch["segments"][b][j]:
        return False
    return not world.has("padding_mask") or batch["valid"][b][i] == batch["valid"][b][j]


def rotated(world: World, x: Any, place: int) -> Any:
    """Components i and i + half turned by place · theta^(−i / half)."""
    if not world.has("rotary"):
        return x
    whole = world.sizes["rotary_size"] if world.has("partial_rotary") else world.sizes["head_size"]
    half = whole // 2
    out = list(x)
    for i in range(half):
        a, b = (i, i + half) if world.has("half_split") else (2 * i, 2 * i + 1)
        angle = place * world.sizes["rope_theta"] ** (-i / half)
        cos, sin = np.cos(angle), np.sin(angle)
        out[a], out[b] = x[a] * cos - x[b] * sin, x[b] * cos + x[a] * sin
    return world.xp.stack(out)


def experts(
    world: World,
    stream: Mapping[tuple[int, int], Any],
    layer: int,
    bias_E: np.ndarray,
    decisions: Decisions,
    given: tuple[list[list[int]], list[list[bool]]] | None,
) -> dict[tuple[int, int], Any]:
    """What shared and routed experts add to each token; fills `decisions`."""
    hidden = {at: normed(world, x, world.layer("mlp_norm", layer), "mlp_norm") for at, x in stream.items()}
    logits = {at: h @ world.layer("router", layer) for at, h in hidden.items()}
    if given is None:
        chosen, kept = decide(world, list(logits.values()), bias_E, decisions)
    else:
        chosen, kept = given
    added = {}
    for t, (at, h) in enumerate(hidden.items()):
        latent = normed(world, h @ world.layer("latent/down", layer), world.layer("latent/norm", layer), "latent_norm")
        weights = mixing(world, logits[at], chosen[t], bias_E)
        routed = 0 * latent
        for e, weight, keep in zip(chosen[t], weights, kept[t], strict=True):
            if keep and world.has("experts"):
                routed = routed + weight * gated(world, latent, "experts", layer, e)
        added[at] = routed @ world.layer("latent/up", layer) if world.has("latent_up") else 0 * h
        if world.has("shared_experts"):
            added[at] = added[at] + gated(world, h, "shared", layer, None)
    return added


def decide(
    world: World, logits: Sequence[np.ndarray], bias_E: np.ndarray, decisions: Decisions
) -> tuple[list[list[int]], list[list[bool]]]:
    """The A largest biased logits of each token, and whether there was still a slot."""
    sizes, valid = world.sizes, [bool(world.batch["valid"][at]) for at in world.tokens]
    top, taken = sizes["experts_per_token"], [0] * sizes["num_experts"]
    chosen, kept, margins = [], [], []
    for row, real in zip(logits, valid, strict=True):
        biased = row + bias_E
        order = np.argsort(-(biased if world.has("biased_choice") else row), kind="stable")
        chosen.append([int(e) for e in order[:top]])
        margins.append(row - biased[order[top]])
        free = []
        for e in chosen[-1]:
            counts = real or not world.has("padding_slots")
            free.append(counts and (taken[e] < slots(world, len(logits)) or not world.has("capacity")))
            taken[e] += counts
        kept.append(free)
    decisions.chosen.append(chosen)
    decisions.kept.append(kept)
    decisions.margins.append(margins)
    return chosen, kept


def slots(world: World, num_tokens: int) -> int:
    """Slots of one expert: even share · factor, rounded up to a multiple of 8."""
    sizes = world.sizes
    share = num_tokens * sizes["experts_per_token"] / sizes["num_experts"]
    return 8 * ceil(sizes["capacity_factor"] * share / 8)


def mixing(world: World, logits: Any, chosen: Sequence[int], bias_E: np.ndarray) -> list[Any]:
    """Sigmoids of the unbiased logits of the chosen, scaled to sum to `router_weight_sum`."""
    rows = [logits[e] + (0 if world.has("unbiased_weights") else bias_E[e]) for e in chosen]
    scores = [1 / (1 + world.xp.exp(-row)) if world.has("sigmoid") else world.xp.exp(row) for row in rows]
    total = sum(scores) if world.has("renormalised") else 1.0
    wanted = world.sizes["router_weight_sum"] if world.has("weight_sum") else 1.0
    return [wanted * score / total for score in scores]


def gated(world: World, x: Any, kind: str, layer: int, expert: int | None) -> Any:
    """silu(x · gate) ∘ (x · up) · down of one expert, or of the shared ones."""
    gate, up, down = (world.layer(f"{kind}/{name}", layer) for name in ("gate", "up", "down"))
    if expert is not None:
        gate, up, down = gate[expert], up[expert], down[expert]
    inner = x @ gate
    opened = inner / (1 + world.xp.exp(-inner)) if world.has("gate") else inner
    return (opened * (x @ up)) @ down


def loss(logits: Sequence[Any], batch: Mapping[str, np.ndarray], z_factor: float, xp: Any = np) -> tuple[Any, Any, int]:
    """Mean cross-entropy and z-loss over scored tokens, and their number."""
    cross, squares, count = 0.0, 0.0, 0
    for row, target, scored in zip(logits, batch["targets"].ravel(), batch["scored"].ravel(), strict=True):
        if scored:
            log_norm = xp.max(row) + xp.log(xp.sum(xp.exp(row - xp.max(row))))
            cross, squares, count = cross + log_norm - row[int(target)], squares + log_norm**2, count + 1
    return cross / max(count, 1), z_factor * squares / max(count, 1), count
