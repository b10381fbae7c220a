"""Class F of the pains, the counts: what FLOPs and parameters are, with the values that each row names."""

from dataclasses import replace

import pytest

from fanal.campaign.count import (
    CONVENTIONS,
    causal_pairs,
    count,
    embedding_and_head_params,
    flops_per_token,
    full_pairs,
    head_forward_flops,
    moe_params,
    params_active,
    params_total,
    score_forward_flops,
    windowed_pairs,
)
from fanal.campaign.plan import plan_campaign
from fanal.campaign.show import plan_text
from tests.worlds.campaign import tiny_campaign

HERO = plan_campaign(tiny_campaign()).hero


def test_f5_the_head_costs_the_same_tied_or_not_and_the_look_up_nothing() -> None:
    assert head_forward_flops(1000, 64) == 128_000.0
    shape = replace(HERO.model, vocab=1000, hidden=64)
    counts = count(shape, HERO.seq_tokens, HERO.tokens)
    assert counts.flops_per_token_with_head - counts.flops_per_token == 3 * 128_000.0
    # What is left has no vocabulary in it: neither the look-up nor a tied or untied table adds anything.
    assert flops_per_token(replace(shape, vocab=2000), HERO.seq_tokens) == counts.flops_per_token


def test_f6_tied_weights_are_counted_once() -> None:
    leaf = object()
    for embedding, head, tied in ((leaf, leaf, True), (leaf, object(), False)):
        distinct = {id(leaf): 100 * 8 for leaf in (embedding, head)}
        assert embedding_and_head_params(100, 8, tied=tied) == sum(distinct.values())
    assert embedding_and_head_params(100, 8, tied=True) == 800
    assert embedding_and_head_params(100, 8, tied=False) == 1600


def test_f6_a_layer_of_experts_is_its_rest_and_all_or_the_used_experts() -> None:
    expert, rest = 7, 1000
    assert moe_params(8, expert, rest) == rest + 8 * expert
    assert moe_params(2, expert, rest) == rest + 2 * expert
    # On a whole model: one more expert adds one expert to the total and none to what is active, its router row aside.
    shape = HERO.model
    wider = replace(shape, num_experts=shape.num_experts + 1)
    router = shape.num_layers * shape.hidden
    expert = shape.num_layers * 3 * shape.latent_width * shape.expert_width
    assert params_total(wider) - params_total(shape) == expert + router
    assert params_active(wider) - params_active(shape) == router


def test_f7_causal_attention_counts_36_pairs_of_8_positions_and_says_so() -> None:
    assert causal_pairs(8) == 36
    assert full_pairs(8) == 64
    assert "pairs causal and windowed" in CONVENTIONS["flops_per_token"]
    assert CONVENTIONS["flops_per_token"] in plan_text(plan_campaign(tiny_campaign()))


def test_f7_the_models_flops_use_the_causal_pairs() -> None:
    shape = replace(HERO.model, num_layers=1)
    scores = flops_per_token(shape, 8) - 6 * params_active(shape)
    assert scores * 8 == 3 * score_forward_flops(36, shape.num_heads, shape.head_size)


def test_f8_a_window_of_2_leaves_15_pairs_of_8_positions() -> None:
    assert windowed_pairs(8, 2) == 15
    assert windowed_pairs(8, 8) == windowed_pairs(8, 100) == causal_pairs(8)
    assert windowed_pairs(8, 1) == 8


def test_f8_the_models_flops_use_the_window_in_windowed_layers_only() -> None:
    shape = replace(HERO.model, num_layers=2, full_every=2, window_tokens=2)
    assert shape.full_layers == (False, True)
    scores = flops_per_token(shape, 8) - 6 * params_active(shape)
    assert scores * 8 == 3 * score_forward_flops(15 + 36, shape.num_heads, shape.head_size)


@pytest.mark.parametrize("num_kv_heads", [8, 2, 1])
def test_f8_sharing_key_heads_changes_the_projections_and_not_the_scores(num_kv_heads: int) -> None:
    shape = replace(HERO.model, num_heads=8, head_size=4, num_kv_heads=num_kv_heads)
    scores = flops_per_token(shape, 8) - 6 * params_active(shape)
    pairs = 36 + windowed_pairs(8, shape.window_tokens)
    assert scores * 8 == 3 * score_forward_flops(pairs, 8, 4)
    all_heads = replace(shape, num_kv_heads=8)
    saved = shape.num_layers * 2 * shape.hidden * shape.head_size * (8 - num_kv_heads)
    assert params_active(all_heads) - params_active(shape) == saved
