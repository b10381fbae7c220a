from dataclasses import replace
from typing import Any

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.sheet import Dial, Given, Sheet, is_own, nearest, resolve
from fanal.campaign.spec import Setting
from fanal.errors import CampaignError
from tests.worlds.campaign import tiny_campaign

DIAL = Dial(hidden=16, vocab=300, seq_tokens=32, batch_seqs=4, tokens_per_active_param=1)


def sheet_with(**settings: Setting) -> Sheet:
    return Sheet(DIAL, settings)


def test_a_put_answers_with_the_recipes_value_where_nothing_is_set() -> None:
    sheet = sheet_with()
    assert sheet.put("width", 8, "half", "paper", "measured") == 8
    (law,) = sheet.laws
    assert (law.name, law.value, law.formula, law.source, law.status) == ("width", 8, "half", "paper", "measured")
    assert (law.why, law.replaces) == ("", "")


def test_a_setting_replaces_value_law_and_status_and_keeps_what_it_replaced() -> None:
    sheet = sheet_with(width=Setting(why="small", value=4))
    assert sheet.put("width", 8, "half", "paper", "measured") == 4
    (law,) = sheet.laws
    assert (law.value, law.status, law.why, law.replaces) == (4, "set", "small", "8: half")


def test_a_set_law_reads_the_sheet_and_gives_its_formula() -> None:
    setting = Setting(why="short", law="fanal.campaign.recipes:lantern_beta2")
    sheet = sheet_with(beta2=setting)
    sheet.put("num_steps", 800, "", "", "")
    assert sheet.put("beta2", 0.95, "published", "paper", "measured") == 0.99
    assert sheet.laws[-1].formula == "min(published law, max(0.9, 1 − 8/num_steps))"


def test_later_laws_follow_from_what_was_set() -> None:
    plan = plan_campaign(tiny_campaign())
    deep = tiny_campaign()
    settings = {**deep.trainer.set, "num_layers": Setting(why="test", value=4)}
    deeper = plan_campaign(replace(deep, trainer=replace(deep.trainer, set=settings)))
    assert deeper.hero.counts.params_active == 2 * plan.hero.counts.params_active
    assert deeper.hero.num_steps == 2 * plan.hero.num_steps


@pytest.mark.parametrize(
    ("like", "value", "words"),
    [(8, 4.0, "an integer"), (8, True, "an integer"), (8.0, "4", "a number"), ("a", 1, "a string")],
)
def test_a_setting_of_another_type_is_refused(like: Any, value: Any, words: str) -> None:
    with pytest.raises(CampaignError, match=rf"trainer\.set\.width\.value: must be {words}, got "):
        sheet_with(width=Setting(why="x", value=value)).put("width", like, "", "", "")


def test_an_integer_may_be_set_for_a_number() -> None:
    value = sheet_with(width=Setting(why="x", value=4)).put("width", 8.0, "", "", "")
    assert (value, type(value)) == (4.0, float)


def test_what_follows_by_arithmetic_cannot_be_set() -> None:
    with pytest.raises(CampaignError, match=r"trainer\.set\.tokens: follows from other numbers \(steps · batch\)"):
        sheet_with(tokens=Setting(why="x", value=4)).derive("tokens", 8, "steps · batch")


def test_a_setting_the_recipe_does_not_have_names_the_nearest() -> None:
    campaign = tiny_campaign()
    settings = {**campaign.trainer.set, "adam_lrr": Setting(why="x", value=1.0)}
    with pytest.raises(
        CampaignError, match=r"run d16: trainer\.set\.adam_lrr: the recipe has no such number; nearest: adam_lr"
    ):
        plan_campaign(replace(campaign, trainer=replace(campaign.trainer, set=settings)))


def test_a_number_not_yet_put_is_named() -> None:
    sheet = sheet_with()
    sheet.put("num_steps", 1, "", "", "")
    with pytest.raises(CampaignError, match="the recipe has put no 'num_step' yet; nearest: num_steps"):
        sheet.number("num_step")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("fanal.campaign.recipes:fine_graned_moe", "has no function 'fine_graned_moe'; nearest: fine_grained_moe"),
        ("fanal.campaign.nowhere:x", "cannot import 'fanal.campaign.nowhere'"),
        ("fanal.campaign.sheet:import_module", "has no function 'import_module'"),
        ("fanal.campaign.recipes:HOUSE", "has no function 'HOUSE'"),
    ],
)
def test_a_function_that_is_not_there_is_named(reference: str, message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        resolve(reference, "trainer.recipe")


def test_a_law_must_answer_with_a_given() -> None:
    setting = Setting(why="x", law="fanal.campaign.recipes:fine_grained_moe")
    with pytest.raises(CampaignError, match=r"trainer\.set\.width\.law: .* must return a Given, got NoneType"):
        Sheet(replace(DIAL, hidden=768), {"width": setting}).put("width", 1, "", "", "")
    assert Given(1, "", "").value == 1


def test_own_code_is_that_of_the_campaign_package() -> None:
    assert is_own("fanal.campaign.recipes:x")
    assert not is_own("fanal.train.step:x")
    assert not is_own("fanal.campaigns:x")
    assert nearest("heroo", ["hero", "rungs"]) == "hero"
    assert nearest("hero", []) == "none"
