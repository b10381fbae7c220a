import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load
from fanal.campaign.recipes import DEPTH_OF_HIDDEN, LANTERN_RATES, PowerLaw, fine_grained_moe, published_beta2
from fanal.campaign.sheet import Dial, Sheet
from fanal.campaign.spec import Setting
from tests.worlds.campaign import tiny_campaign

# hidden, steps, sequences a batch of 4,096 tokens, and what Marin's formulas gave on its ladder and hero, as published
# (github.com/marin-community/marin, experiments/grug/moe_hero_ep/launch_scaling_ladder.py).
PUBLISHED = [
    (768, 11_420, 1024, 0.0036505380639706045, 0.015818998277205953, 0.9684910757595268, 1.0340199349722422e-15),
    (1024, 15_276, 2048, 0.0033256689824839912, 0.014411232257430628, 0.95, 1.195916022710625e-15),
    (1536, 15_128, 6144, 0.0034360151656866902, 0.014889399051308991, 0.95, 1.1901086660166794e-15),
    (2048, 20_072, 11_264, 0.003097310977133713, 0.013421680900912758, 0.95, 1.37085393761407e-15),
    (6144, 390_251, 11_264, 0.0007593392684441868, 0.003290470163258143, 0.95, 6.044604247506697e-15),
]


def filled(hidden: int, batch_seqs: int, num_steps: int) -> Sheet:
    steps = {"num_steps": Setting(why="as published", value=num_steps)}
    sheet = Sheet(Dial(hidden, 128_256, 4096, batch_seqs, 791), steps)
    fine_grained_moe(sheet)
    return sheet


@pytest.mark.parametrize(("hidden", "steps", "batch", "adam", "muonh", "beta2", "eps"), PUBLISHED)
def test_the_laws_give_the_published_rates(
    hidden: int, steps: int, batch: int, adam: float, muonh: float, beta2: float, eps: float
) -> None:  # fmt: skip
    sheet = filled(hidden, batch, steps)
    assert sheet["adam_lr"] == pytest.approx(adam)
    assert sheet["muonh_lr"] == pytest.approx(muonh)
    assert sheet["beta2"] == pytest.approx(beta2)
    assert sheet["adam_eps"] == pytest.approx(eps)


@pytest.mark.parametrize(("hidden", "layers"), [*DEPTH_OF_HIDDEN.items(), (512, 8), (896, 8), (4096, 22), (8192, 48)])
def test_depth_is_the_row_of_the_table_at_or_below_the_width(hidden: int, layers: int) -> None:
    assert filled(hidden, 1024, 1000)["num_layers"] == layers


@pytest.mark.parametrize(("hidden", "heads", "key_heads"), [(768, 6, 1), (1024, 8, 2), (1536, 12, 3), (6144, 48, 12)])
def test_heads_are_of_128_and_four_share_a_key_head(hidden: int, heads: int, key_heads: int) -> None:
    sheet = filled(hidden, 1024, 1000)
    assert (sheet["num_heads"], sheet["num_kv_heads"], sheet["head_size"], sheet["rotary_size"]) == (
        heads,
        key_heads,
        128,
        64,
    )


def test_the_reference_warms_up_over_one_percent_of_its_steps() -> None:
    assert filled(6144, 11_264, 390_251)["warmup_tokens"] == 3903 * 11_264 * 4096


def test_length_follows_from_active_parameters_in_whole_batches() -> None:
    for run in plan_campaign(load("lantern")).runs:
        exact = 5 * run.counts.params_active / run.batch_tokens
        assert run.num_steps == round(exact)
        assert run.tokens == run.num_steps * run.batch_tokens


@pytest.mark.parametrize("name", ["lantern", "firefly"])
def test_laptop_laws_remember_at_most_an_eighth_of_the_run_and_warm_up_for_ten_steps(name: str) -> None:
    for run in plan_campaign(load(name)).runs:
        optimizer = run.optimizer
        memory_steps = 1 / (1 - optimizer.beta2)
        assert memory_steps <= max(10, run.num_steps / 8) * (1 + 1e-9)
        assert optimizer.beta1**2 < optimizer.beta2
        warmup_steps = optimizer.warmup_tokens / run.batch_tokens
        assert warmup_steps >= 10
        assert warmup_steps >= 0.02 * run.num_steps
        assert optimizer.final_lr_frac == 0.05


def test_a_run_shorter_than_its_warm_up_is_all_warm_up() -> None:
    run = plan_campaign(tiny_campaign(ladder__tokens_per_active_param=0.05)).runs[0]
    assert run.num_steps < 10
    assert run.optimizer.warmup_tokens == run.tokens


def test_a_power_law_is_its_factor_at_its_reference_point_and_says_what_it_is() -> None:
    law = PowerLaw(0.02, -0.5, 0.25)
    assert law(32, 100_000) == 0.02
    assert law(128, 100_000) == pytest.approx(0.01)
    assert law(32, 1_600_000) == pytest.approx(0.04)
    assert law.formula == "0.02·(hidden/32)^-0.5·(tokens/100000)^0.25"
    assert PowerLaw(0.04, 0.0, 0.0).formula == "0.04"


def test_the_lanterns_rates_are_those_of_the_table() -> None:
    for run in plan_campaign(load("lantern")).runs:
        for name, law in LANTERN_RATES.items():
            assert getattr(run.optimizer, name) == law(run.hidden, run.tokens)


def test_the_published_decay_stays_within_its_bounds() -> None:
    assert published_beta2(1) == 0.9999
    assert published_beta2(10**9) == 0.95


@pytest.mark.parametrize(("hidden", "rotary"), [(32, 4), (40, 4), (48, 6), (64, 8), (96, 12)])
def test_half_of_a_head_is_rotated_rounded_down_to_even(hidden: int, rotary: int) -> None:
    (run,) = [r for r in plan_campaign(load("lantern")).runs if r.hidden == hidden and r.seed == 0]
    assert (run.model.head_size, run.model.rotary_size) == (hidden // 4, rotary)
