from dataclasses import replace

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.recipes import fine_grained_moe
from fanal.campaign.shape import model_shape
from fanal.campaign.sheet import Dial, Sheet
from fanal.campaign.spec import Campaign, Setting
from fanal.errors import CampaignError
from tests.worlds.campaign import tiny_campaign


def tiny_with(**values: float | str) -> Campaign:
    """The tiny campaign with numbers of its recipe set."""
    campaign = tiny_campaign()
    settings = {name: Setting(why="test", value=value) for name, value in values.items()}
    return replace(campaign, trainer=replace(campaign.trainer, set={**campaign.trainer.set, **settings}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"num_heads": 5, "num_kv_heads": 1},
            "num_heads 5 does not divide hidden 16; choose another rung or set num_heads",
        ),
        ({"num_kv_heads": 3}, "num_kv_heads 3 does not divide num_heads 4; set num_kv_heads"),
        ({"num_heads": 0}, "needs at least one head and one key head"),
        ({"num_heads": 8}, "rotary_size must be even, at least 2 and at most head_size, got 0 of 2; use fewer heads"),
        ({"rotary_size": 3}, "rotary_size must be even"),
        ({"experts_per_token": 8}, "experts_per_token 8 must be below num_experts 8"),
        ({"experts_per_token": 9}, "experts_per_token 9 must be below num_experts 8"),
        ({"capacity_factor": 0.9}, "capacity_factor must be at least 1"),
        ({"window_tokens": 0}, "window_tokens must be at least 1, got 0"),
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
        ({"full_every": 0}, "full_every must be at least 1, got 0"),
        ({"latent_width": 0}, "latent_width must be at least 1"),
        ({"num_shared_experts": 0}, "num_shared_experts must be at least 1"),
        ({"norm_eps": 0.0}, "norm_eps must be above 0"),
        ({"router_weights": "softmax"}, "router_weights must be 'sigmoid_renormalised', got 'softmax'"),
        ({"adam_lr": 0.0}, "adam_lr must be above 0, got 0.0"),
        ({"beta2": 1.0}, "beta2 must be at least 0 and below 1, got 1.0"),
        ({"final_lr_frac": 2.0}, "final_lr_frac must lie between 0 and 1"),
        ({"warmup_tokens": 10_000}, "warmup_tokens must lie within the run's 2304 tokens, got 10000"),
        ({"spike_history": 1}, "spike_history at least 2"),
    ],
)
def test_sizes_that_cannot_be_name_campaign_run_width_and_what_to_change(
    values: dict[str, float | str], message: str
) -> None:
    with pytest.raises(CampaignError) as caught:
        plan_campaign(tiny_with(**values))
    assert str(caught.value).startswith("campaign tiny, run d16: hidden 16: ")
    assert message in str(caught.value)


def test_a_small_vocabulary_is_refused() -> None:
    campaign = tiny_campaign()
    with pytest.raises(
        CampaignError, match=r"tokenizer\.vocab must be at least 257 \(256 bytes and the separator\), got 256"
    ):
        plan_campaign(replace(campaign, tokenizer=replace(campaign.tokenizer, vocab=256)))


def test_an_odd_width_is_refused_for_the_latent() -> None:
    with pytest.raises(CampaignError, match="run hero: hidden 33: hidden must be even"):
        plan_campaign(tiny_campaign(ladder__hero=33))


def test_the_recipe_alone_says_that_its_heads_do_not_fit_a_narrow_model() -> None:
    with pytest.raises(CampaignError, match=r"needs at least one head and one key head, got num_heads 0 .* set both"):
        fine_grained_moe(Sheet(Dial(64, 1024, 128, 8, 5), {}))


def test_several_reasons_come_together() -> None:
    with pytest.raises(CampaignError) as caught:
        plan_campaign(tiny_with(experts_per_token=8, capacity_factor=0.5))
    assert len(str(caught.value).splitlines()) == 2


def test_a_recipe_that_leaves_a_number_out_is_told_which() -> None:
    sheet = Sheet(Dial(16, 300, 32, 4, 1), {})
    sheet.put("num_layer", 2, "", "", "")
    with pytest.raises(CampaignError, match="the recipe has put no 'num_layers' yet; nearest: num_layer"):
        model_shape(sheet)
