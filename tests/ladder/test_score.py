"""A forecast against a measurement: hand-computed errors, skill and width, and nothing else looked at."""

import copy
from typing import Any

import pytest

from fanal.campaign.fingerprint import canonical_json
from fanal.ladder.forecast import forecast
from fanal.ladder.score import Score, score, summarise, verdict
from fanal.ladder.seal import document_sha256
from fanal.record.events import check_event
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from tests.worlds.ladder import fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)


def document() -> dict[str, Any]:
    """A document with round figures: foretold 3.4 (3.3 to 3.5), top rung 3.8, lines 3.2, 3.3 and none."""
    made = copy.deepcopy(DOCUMENT)
    end = made["metrics"][FULL_MACRO]
    end.update(p10=[3.3], p50=[3.4], p90=[3.5])
    end["lines"] = {"asymptote 0": [3.2], "asymptote 1.5": [3.3], "last two rungs": [None]}
    end["line_intervals"]["asymptote 0"] = {"p10": 3.1, "p90": 3.3}
    made["rungs"][-1]["losses"][FULL_MACRO] = [3.75, 3.85]
    return made


def test_error_is_measured_minus_foretold() -> None:
    found = score(document(), FULL_MACRO, 1.0, 3.35)
    assert found is not None
    assert (found.inside, found.line) == (True, 3.3)
    assert found.error == pytest.approx(-0.05)
    assert found.error_frac == pytest.approx(-0.05 / 3.4)


@pytest.mark.parametrize(("measured", "inside"), [(3.3, True), (3.2999, False), (3.5, True), (3.5001, False)])
def test_the_borders_of_the_interval_belong_to_it(measured: float, inside: bool) -> None:
    found = score(document(), FULL_MACRO, 1.0, measured)
    assert found is not None
    assert found.inside is inside


def test_between_two_foretold_shares_the_quantiles_are_interpolated() -> None:
    foretold = DOCUMENT["metrics"][PULSE_MACRO]
    first, second = foretold["progress"][:2]
    found = score(DOCUMENT, PULSE_MACRO, (first + second) / 2, 4.0)
    assert found is not None
    assert found.p50 == pytest.approx(sum(foretold["p50"][:2]) / 2)
    assert found.line == pytest.approx(sum(foretold["lines"]["asymptote 1.5"][:2]) / 2)


def test_before_the_first_foretold_share_there_is_nothing_to_score() -> None:
    assert score(DOCUMENT, PULSE_MACRO, 0.0, 5.7) is None
    assert score(DOCUMENT, PULSE_MACRO, DOCUMENT["metrics"][PULSE_MACRO]["progress"][0], 5.0) is not None


def test_a_metric_without_a_forecast_and_a_loss_that_is_no_number_are_named() -> None:
    with pytest.raises(
        ValueError, match="no forecast of 'eval/full/code'; there are eval/pulse/macro, eval/full/macro"
    ):
        score(DOCUMENT, "eval/full/code", 1.0, 3.0)
    with pytest.raises(ValueError, match=r"eval/full/macro at 1.000 of the run is nan: nothing to score"):
        score(DOCUMENT, FULL_MACRO, 1.0, float("nan"))


def test_a_score_is_an_event_of_the_table() -> None:
    found = score(DOCUMENT, FULL_MACRO, 1.0, 3.4)
    assert found is not None
    check_event("forecast.score", found.event_fields(document_sha256(DOCUMENT)))
    without_line = Score(FULL_MACRO, 1.0, 3.4, 3.3, 3.4, 3.5, None)
    check_event("forecast.score", without_line.event_fields("0" * 64))


def test_skill_and_width_are_shares_of_what_the_hero_gained() -> None:
    found = verdict(document(), 3.3)
    assert found.improvement == pytest.approx(0.5)  # 3.8 − 3.3
    assert found.skill == pytest.approx(1 - 0.1 / 0.5)
    assert found.width_share == pytest.approx(0.2 / 0.5)
    zero, one_and_a_half, last_two = found.lines
    assert (zero.skill, zero.width_share) == (pytest.approx(1 - 0.1 / 0.5), pytest.approx(0.2 / 0.5))
    assert one_and_a_half.skill == pytest.approx(1.0)
    assert (last_two.value, last_two.error, last_two.skill, last_two.width_share) == (None, None, None, None)


def test_a_hero_no_better_than_the_top_rung_has_no_skill_to_tell() -> None:
    found = verdict(document(), 3.9)
    assert (found.skill, found.width_share) == (None, None)
    assert not found.final.inside


def summary(measured: float = 3.35) -> dict[str, Any]:
    return summarise(document(), measured, sealed_before_step_0=True, seconds={"data": 20.5, "train/hero": 70.0})


def test_the_summary_has_the_fields_that_were_promised() -> None:
    found = summary()
    assert [rung["name"] for rung in found["rungs"]] == ["d16", "d20", "d24", "d32"]
    for rung in found["rungs"]:
        assert {"name", "params_total", "params_active", "tokens", "flops", "loss"} <= rung.keys()
    assert found["rungs"] == sorted(found["rungs"], key=lambda rung: rung["flops"])
    assert found["rungs"][-1]["loss"] == pytest.approx(3.8), "the mean over seeds"
    assert found["rungs"][-1]["flops"] == pytest.approx(LADDER.plan.rungs[-1].counts.flops), "without the head"
    assert found["forecast"] == {
        "p10": 3.3,
        "p50": 3.4,
        "p90": 3.5,
        "sealed_before_step_0": True,
        "sha256": document_sha256(document()),
    }
    assert (found["hero"]["loss"], found["hero"]["inside"]) == (3.35, True)
    assert {"name", "params_total", "params_active", "tokens", "flops"} <= found["hero"].keys()
    assert found["lines"]["asymptote 0"]["value"] == 3.2
    assert found["lines"]["asymptote 0"]["error"] == pytest.approx(0.15)
    assert found["seconds"] == {"data": 20.5, "train/hero": 70.0, "total": 90.5}
    assert (found["campaign"], found["fingerprint"]) == ("tiny", LADDER.plan.fingerprint)


def test_the_summary_is_plain_json_and_a_verdict_of_the_table() -> None:
    canonical_json(summary())
    canonical_json(summary(3.9))
    check_event("verdict", {"summary": summary()})


def test_a_forecast_that_was_not_first_is_said_to_be_so() -> None:
    found = summarise(document(), 3.35, sealed_before_step_0=False, seconds={})
    assert found["forecast"]["sealed_before_step_0"] is False
