"""The document: a pure function of the rungs, plain JSON, right where the law is known, with its doubts beside it."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from fanal.campaign.fingerprint import canonical_json
from fanal.campaign.spec import ForecastSpec
from fanal.errors import CampaignError, RefusedError
from fanal.ladder.fit import NATS, PosteriorOptions, fit_last_two, fit_line
from fanal.ladder.forecast import LINES, ForecastOptions, forecast
from fanal.ladder.rungs import WITH_HEAD, WITHOUT_HEAD, LadderRecord
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from tests.worlds.ladder import TOKENIZER, fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)
QUANTILES = ("p10", "p25", "p50", "p75", "p90")


def test_on_a_ladder_without_noise_the_median_is_the_law_at_every_share_of_the_run() -> None:
    ladder = fake_ladder(E=2.2, alpha=0.15)
    found = forecast(ladder.record(), ladder.hero)["metrics"][PULSE_MACRO]
    law = [ladder.law(ladder.hero.flops[WITHOUT_HEAD] * share) for share in found["progress"]]
    assert found["p50"] == pytest.approx(law, rel=0.012)
    inside = [low <= loss <= high for low, loss, high in zip(found["p10"], law, found["p90"], strict=True)]
    assert all(inside)


def test_the_document_is_plain_json_and_the_same_bytes_for_the_same_ladder() -> None:
    text = canonical_json(DOCUMENT)
    assert canonical_json(json.loads(text)) == text
    assert canonical_json(forecast(LADDER.record(), LADDER.hero)) == text


def test_no_point_stands_without_its_interval() -> None:
    for foretold in DOCUMENT["metrics"].values():
        for values in zip(*(foretold[name] for name in QUANTILES), strict=True):
            assert list(values) == sorted(values)
            assert values[0] < values[-1]


def test_pulse_is_foretold_at_each_of_the_heros_evals_and_full_at_the_end() -> None:
    hero = LADDER.plan.hero
    assert DOCUMENT["metrics"][PULSE_MACRO]["steps"] == [step for step in hero.pulse_steps if step > 0]
    assert DOCUMENT["metrics"][PULSE_MACRO]["progress"][-1] == 1.0
    assert DOCUMENT["metrics"][FULL_MACRO]["progress"] == [1.0]
    assert DOCUMENT["headline"] == FULL_MACRO


def test_the_lines_beside_it_are_the_methods_own() -> None:
    end = LADDER.record().levels[FULL_MACRO][-1].points()
    flops = LADDER.hero.flops[WITHOUT_HEAD]
    expected = [fit_line(end, 0.0), fit_line(end, 1.5), fit_last_two(end)]
    found = DOCUMENT["metrics"][FULL_MACRO]["lines"]
    assert list(found) == list(LINES)
    assert [found[name][-1] for name in LINES] == [line.predict(flops).p50 for line in expected]
    pulse = DOCUMENT["metrics"][PULSE_MACRO]
    assert all(len(pulse["lines"][name]) == len(pulse["progress"]) for name in LINES)


def test_a_line_that_cannot_be_drawn_is_absent_and_the_forecast_stands() -> None:
    ladder = fake_ladder(E=0.6, alpha=0.15)
    halved = {
        metric: tuple(
            replace(
                level,
                rungs=tuple(
                    replace(r, losses=tuple(x / 3 for x in r.losses), unit=replace(r.unit, kind="bits per byte"))
                    for r in level.rungs
                ),
            )
            for level in levels
        )
        for metric, levels in ladder.record().levels.items()
    }
    found = forecast(LadderRecord(halved, {}, {}), ladder.hero)["metrics"][FULL_MACRO]
    assert found["lines"]["asymptote 1.5"] == [None]
    assert found["path"]["line"] == []
    assert found["lines"]["asymptote 0"][0] > 0
    assert found["unit"]["kind"] == "bits per byte"


def test_the_path_runs_from_the_smallest_rung_to_the_hero_and_ends_in_the_forecast() -> None:
    found = DOCUMENT["metrics"][FULL_MACRO]
    path = found["path"]
    assert path["flops"][0] == pytest.approx(LADDER.plan.rungs[0].counts.flops)
    assert path["flops"][-1] == pytest.approx(LADDER.hero.flops[WITHOUT_HEAD])
    assert path["p50"][-1] == pytest.approx(found["p50"][-1], rel=1e-6)


def test_conditions_say_what_must_hold_of_the_hero() -> None:
    conditions, hero = DOCUMENT["conditions"], LADDER.plan.hero
    assert conditions["tokens"] == hero.tokens
    assert conditions["batch_tokens"] == hero.batch_tokens
    assert conditions["tokenizer_sha256"] == TOKENIZER
    assert {"mixture", "corpus_fingerprint", "seq_tokens", "evals", "eval_sets"} <= conditions.keys()


def test_method_convention_and_asymptote_are_named() -> None:
    assert DOCUMENT["method"]["options"]["asymptote"] == {"mean": 0.6, "sd": 0.08, "relative": True}
    assert DOCUMENT["asymptote"]["treatment"] == "relative"
    assert DOCUMENT["compute"]["convention"] == WITHOUT_HEAD
    assert "head" in DOCUMENT["compute"]["means"] or "flops_per_token" in DOCUMENT["compute"]["means"]


def test_sensitivity_covers_asymptote_convention_and_each_rung() -> None:
    choices = [entry["choice"] for entry in DOCUMENT["sensitivity"]]
    assert [c for c in choices if c.startswith("without")] == [
        "without d16",
        "without d20",
        "without d24",
        "without d32",
    ]
    moved = {entry["choice"]: entry["p50"] for entry in DOCUMENT["sensitivity"]}
    median = DOCUMENT["metrics"][FULL_MACRO]["p50"][-1]
    assert moved["asymptote one deviation lower"] < median < moved["asymptote one deviation higher"]
    assert moved["asymptote 1.5 ± 0.25 nats"] != median
    assert moved["head counted in FLOPs"] != median
    assert DOCUMENT["sensitivity"][-1]["why"] == "none: every rung is complete"


def test_sensitivity_is_the_forecast_made_again_with_that_one_choice() -> None:
    entries = {entry["choice"]: entry for entry in DOCUMENT["sensitivity"]}
    record = LADDER.record()
    with_head = forecast(record, LADDER.hero, ForecastOptions(convention=WITH_HEAD))["metrics"][FULL_MACRO]
    fewer = {metric: tuple(level.without("d20") for level in levels) for metric, levels in record.levels.items()}
    without = forecast(LadderRecord(fewer, {}, {}), LADDER.hero)["metrics"][FULL_MACRO]
    for choice, made in (("head counted in FLOPs", with_head), ("without d20", without)):
        assert [entries[choice][q] for q in QUANTILES] == [made[q][-1] for q in QUANTILES]


def test_with_three_rungs_leaving_one_out_says_why_it_cannot_be_told() -> None:
    ladder = fake_ladder()
    levels = {m: tuple(level.without("d16") for level in levels) for m, levels in ladder.record().levels.items()}
    found = forecast(LadderRecord(levels, {}, {}), ladder.hero)
    left_out = [entry for entry in found["sensitivity"] if entry["choice"].startswith("without")]
    assert [entry["p50"] for entry in left_out] == [None, None, None]
    assert {entry["why"] for entry in left_out} == {
        "a forecast with an interval needs three rungs, got 2: train one more size"
    }


def test_a_rung_that_stopped_early_carries_no_forecast() -> None:
    levels = {
        metric: tuple(replace(one, rungs=(*one.rungs[:-1], replace(one.rungs[-1], done_frac=0.8))) for one in levels)
        for metric, levels in LADDER.record().levels.items()
    }
    with pytest.raises(RefusedError, match=r"stopped early carry no forecast yet \(d32 at 80 %\): finish them"):
        forecast(LadderRecord(levels, {}, {}), LADDER.hero)


def test_the_result_is_quoted_on_the_full_set_in_whatever_order_the_metrics_are_named() -> None:
    levels = LADDER.record().levels
    turned = LadderRecord({metric: levels[metric] for metric in reversed(levels)}, {}, {})
    assert forecast(turned, LADDER.hero)["headline"] == FULL_MACRO
    only = LadderRecord({PULSE_MACRO: levels[PULSE_MACRO]}, {}, {})
    assert forecast(only, LADDER.hero)["headline"] == PULSE_MACRO


def test_two_rungs_carry_no_forecast() -> None:
    ladder = fake_ladder()
    levels = {
        m: tuple(level.without("d16").without("d20") for level in levels)
        for m, levels in ladder.record().levels.items()
    }
    with pytest.raises(RefusedError, match="needs three rungs, got 2"):
        forecast(LadderRecord(levels, {}, {}), ladder.hero)


def test_the_campaigns_words_choose_prior_and_method() -> None:
    assert ForecastOptions.of(ForecastSpec()) == ForecastOptions()
    assert ForecastOptions.of(ForecastSpec(asymptote="nats")).posterior == PosteriorOptions(asymptote=NATS)
    with pytest.raises(CampaignError, match=r"forecast.method must be 'default' or 'posterior', got 'oracle'"):
        ForecastOptions.of(ForecastSpec(method="oracle"))
    with pytest.raises(CampaignError, match=r"forecast.asymptote must be one of relative, nats, got 'zero'"):
        ForecastOptions.of(ForecastSpec(asymptote="zero"))


def test_a_whole_forecast_takes_less_than_two_seconds() -> None:
    begun = time.process_time()
    forecast(LADDER.record(), LADDER.hero)
    assert time.process_time() - begun < 2.0


def test_importing_the_ladder_loads_no_jax_and_is_fast() -> None:
    code = (
        "import sys, time; t = time.process_time(); import fanal.ladder, fanal.ladder.fit, fanal.ladder.show; "
        "print(time.process_time() - t, any(m in sys.modules for m in ('jax', 'matplotlib', 'tokenizers')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy = done.stdout.split()
    assert heavy == "False"
    assert float(seconds) < 1.5
