from dataclasses import fields

import pytest

from fanal.campaign.derived import ModelShape, OptimizerPlan
from fanal.campaign.plan import plan_campaign, plan_run, steps_every
from fanal.campaign.read import load
from tests.worlds.campaign import tiny_campaign


def test_runs_come_in_the_order_of_training() -> None:
    plan = plan_campaign(load("lantern"))
    ids = ["d32", "d32-s1", "d32-s2", "d40", "d40-s1", "d40-s2", "d48", "d64", "hero"]
    assert [run.run for run in plan.runs] == ids
    assert [run.seed for run in plan.runs] == [0, 1, 2, 0, 1, 2, 0, 0, 0]
    assert [run.role for run in plan.runs] == ["rung"] * 8 + ["hero"]
    assert plan.hero.run == "hero"
    assert plan.rungs == plan.runs[:-1]


def test_seeds_count_on_from_the_campaigns() -> None:
    assert [run.seed for run in plan_campaign(tiny_campaign(ladder__seed=7)).runs] == [7, 8, 7, 7, 7]


def test_a_hero_as_wide_as_a_rung_is_still_the_hero() -> None:
    plan = plan_campaign(tiny_campaign(ladder__hero=24))
    widths = [("d16", 16), ("d16-s1", 16), ("d20", 20), ("d24", 24), ("hero", 24)]
    assert [(run.run, run.hidden) for run in plan.runs] == widths


def test_one_run_planned_alone_is_the_campaigns() -> None:
    campaign = tiny_campaign()
    assert plan_run(campaign, 24, run="d24", role="rung", seed=0) == plan_campaign(campaign).runs[3]


def test_planning_twice_gives_the_same_plan() -> None:
    assert plan_campaign(tiny_campaign()) == plan_campaign(tiny_campaign())


@pytest.mark.parametrize(
    ("every", "num_steps", "expected"),
    [
        (0.25, 8, (2, 4, 6, 8)),
        (0.1, 100, tuple(range(10, 101, 10))),
        (0.3, 10, (3, 6, 9, 10)),
        (1.0, 7, (7,)),
        (0.05, 3, (1, 2, 3)),
        (0.1, 15, (2, 3, 4, 6, 8, 9, 10, 12, 14, 15)),  # halves to even, and 0.1 is a tenth, not its double
    ],
)
def test_steps_are_the_rounded_multiples_of_the_share_and_the_last(
    every: float, num_steps: int, expected: tuple[int, ...]
) -> None:
    assert steps_every(every, num_steps, from_start=False) == expected
    assert steps_every(every, num_steps, from_start=True) == (0, *expected)


def test_twenty_pulses_of_five_percent_do_not_drift_past_the_end() -> None:
    steps = steps_every(0.05, 930, from_start=True)
    assert len(steps) == 21
    assert steps[-1] == 930


def test_every_run_is_scored_before_its_first_step_and_after_its_last() -> None:
    for run in plan_campaign(load("lantern")).runs:
        assert (run.pulse_steps[0], run.pulse_steps[-1]) == (0, run.num_steps)
        assert run.full_steps == (run.num_steps,)
        assert run.sample_steps[-1] == run.checkpoint_steps[-1] == run.num_steps
        assert run.checkpoint_steps[0] > 0


def test_every_number_of_model_and_optimizer_has_its_law() -> None:
    run = plan_campaign(load("lantern")).hero
    laws = {law.name: law for law in run.laws}
    stated = {"hidden", "vocab"}
    for part, cls in ((run.model, ModelShape), (run.optimizer, OptimizerPlan)):
        for field in fields(cls):
            if field.name not in stated:
                assert laws[field.name].value == getattr(part, field.name)
    for law in laws.values():
        assert law.formula
        assert law.source
        assert law.status in ("measured", "assumed", "defined", "set")
        assert bool(law.why) == bool(law.replaces) == (law.status == "set")
