"""Everything is counted a second time, leaf by leaf from a table written here, or pair by pair."""

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanal.campaign.count import (
    CONVENTIONS,
    causal_pairs,
    count,
    flops_per_token,
    full_pairs,
    moment_bytes,
    params_active,
    params_matrices,
    params_total,
    shared_width,
    windowed_pairs,
)
from fanal.campaign.derived import Counts, ModelShape
from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load, packaged
from tests.worlds.campaign import tiny_campaign

SHAPES = {
    f"{name}-{run.run}": run.model for name in packaged() for run in plan_campaign(load(name)).runs if run.seed == 0
}


def leaves(s: ModelShape) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Every trained leaf: its optimizer and its shape."""
    d, m, f, e, w, h = s.hidden, s.latent_width, s.expert_width, s.num_experts, shared_width(s), s.head_size
    table: dict[str, tuple[str, tuple[int, ...]]] = {
        "embedding": ("adam", (s.vocab, d)),
        "head": ("adamh", (d, s.vocab)),
        "embedding_norm": ("adam", (d,)),
        "final_norm": ("adam", (d,)),
    }
    for layer in range(s.num_layers):
        for name, optimizer, shape in (
            ("attention_norm", "adam", (d,)),
            ("q", "muonh", (d, s.num_heads * h)),
            ("k", "muonh", (d, s.num_kv_heads * h)),
            ("v", "muonh", (d, s.num_kv_heads * h)),
            ("o", "muonh", (s.num_heads * h, d)),
            ("mlp_norm", "adam", (d,)),
            ("router", "adam", (d, e)),
            ("latent_down", "muonh", (d, m)),
            ("latent_norm", "adam", (m,)),
            ("latent_up", "muonh", (m, d)),
            ("experts_gate", "muonh", (e, m, f)),
            ("experts_up", "muonh", (e, m, f)),
            ("experts_down", "muonh", (e, f, m)),
            ("shared_gate", "muonh", (d, w)),
            ("shared_up", "muonh", (d, w)),
            ("shared_down", "muonh", (w, d)),
        ):
            table[f"layer{layer}/{name}"] = (optimizer, shape)
    return table


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_parameters_are_the_sum_over_the_leaves(shape: ModelShape) -> None:
    sizes = {name: math.prod(leaf) for name, (_, leaf) in leaves(shape).items()}
    matrices = {name: size for name, size in sizes.items() if not name.endswith("norm")}
    assert params_total(shape) == sum(sizes.values())
    assert params_matrices(shape) == sum(matrices.values())
    used = (
        size * shape.experts_per_token // shape.num_experts if "experts_" in name else size
        for name, size in matrices.items()
        if name not in ("embedding", "head")
    )
    assert params_active(shape) == sum(used)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_moments_are_one_for_muonh_and_two_for_the_others(shape: ModelShape) -> None:
    num = {"muonh": 1, "adamh": 2, "adam": 2}
    expected = sum(4 * num[optimizer] * math.prod(leaf) for optimizer, leaf in leaves(shape).values())
    assert moment_bytes(shape) == expected


def matmul_flops(shape: ModelShape, seq_tokens: int) -> float:
    """Forward FLOPs of one token, the head left out, by walking through every product and every pair of positions."""
    total = 0.0
    for name, (_, leaf) in leaves(shape).items():
        if name.endswith("norm") or name in ("embedding", "head"):
            continue
        products = shape.experts_per_token if "experts_" in name else 1
        total += products * 2 * leaf[-2] * leaf[-1]
    for layer in range(shape.num_layers):
        last_or_nth = layer == shape.num_layers - 1 or (layer + 1) % shape.full_every == 0
        for query in range(seq_tokens):
            for key in range(query + 1):
                if last_or_nth or query - key < shape.window_tokens:
                    total += 2 * (2 * shape.head_size * shape.num_heads) / seq_tokens
    return total


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_flops_are_three_times_the_forward_products(layers: int) -> None:
    shape = replace(plan_campaign(tiny_campaign()).hero.model, num_layers=layers)
    assert flops_per_token(shape, 32) == pytest.approx(3 * matmul_flops(shape, 32))


@given(st.integers(1, 40), st.integers(1, 60))
def test_pairs_are_counted_one_by_one(seq_tokens: int, window: int) -> None:
    pairs = [(q, k) for q in range(seq_tokens) for k in range(seq_tokens)]
    assert full_pairs(seq_tokens) == len(pairs)
    assert causal_pairs(seq_tokens) == sum(k <= q for q, k in pairs)
    assert windowed_pairs(seq_tokens, window) == sum(k <= q < k + window for q, k in pairs)


def test_the_counts_of_a_run_belong_together() -> None:
    run = plan_campaign(load("lantern")).hero
    counts = count(run.model, run.seq_tokens, run.tokens)
    assert counts == run.counts
    assert counts.flops == counts.flops_per_token * run.tokens
    assert counts.flops_with_head == counts.flops_per_token_with_head * run.tokens
    assert counts.param_bytes == 4 * counts.params_total


def test_every_figure_has_its_convention() -> None:
    assert set(CONVENTIONS) == {field.name for field in fields(Counts)}


def test_the_reference_heros_size_is_counted_as_published() -> None:
    # 535 billion in all and 23 billion active are public; our variant has one number of key heads and no small parts.
    small = SHAPES["lantern-hero"]
    hero = replace(
        small, vocab=128_256, hidden=6144, num_layers=48, num_heads=48, num_kv_heads=12, head_size=128,
        num_experts=384, experts_per_token=8, expert_width=3072, latent_width=3072, window_tokens=2048, full_every=4,
    )  # fmt: skip
    assert round(params_total(hero) / 1e9) == 535
    assert round(params_active(hero) / 1e9) == 23
    assert flops_per_token(hero, 4096) == pytest.approx(6 * params_active(hero), rel=0.15)
