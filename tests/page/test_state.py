"""The page's state: a function of the record alone, strict, and true at every station of a campaign."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.page.runs import Phase
from fanal.page.state import PageState, page_state, poll_seconds, state_json, waiting_state
from fanal.record import metrics
from fanal.record.attempt import Start, start
from tests.page.conftest import HOSTILE, Grown
from tests.worlds.campaign_record import Made

NBSP = "\u00a0"
STATIONS = ("begun", "data", "rung", "sealed", "half", "done")


def strictly(body: bytes) -> Any:
    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(body, parse_constant=refuse)


@pytest.mark.parametrize(
    ("station", "sentence"),
    [
        ("begun", "Beginning. No stage has begun."),
        ("data", "Reading ten domains: near duplicates."),
        ("rung", f"Rung d48 46{NBSP}% done; loss 4."),
        ("sealed", "Hero begins; its loss at the end is foretold and sealed: 3."),
        ("half", f"Hero 54{NBSP}% done; loss 3."),
        ("done", "Hero finished at 3."),
    ],
)
def test_the_first_sentence_says_what_happens_now(grown: Grown, station: str, sentence: str) -> None:
    line = grown.states[station].headline
    assert f"{line.lead} {line.rest}".startswith(sentence)


def test_the_heros_sentence_says_how_far_against_what_and_until_when(grown: Grown) -> None:
    state = grown.states["half"]
    assert state.hero is not None
    newest = state.hero.differences[-1]
    frac = newest.difference / (newest.measured - newest.difference)
    rest = state.headline.rest
    assert f"{100 * abs(frac):.1f}{NBSP}% {'above' if frac > 0 else 'below'} the forecast" in rest
    assert f"{'inside' if newest.inside else 'above'} its 80{NBSP}% band" in rest
    assert rest.endswith(f"ends in about 40{NBSP}s.")


def test_the_verdict_holds_the_measurement_against_the_sealed_interval(grown: Grown) -> None:
    ladder = grown.states["done"].ladder
    assert ladder is not None
    assert ladder.forecast is not None
    assert ladder.measured is not None
    said = f"{grown.states['done'].headline.lead} {grown.states['done'].headline.rest}"
    inside = ladder.forecast.p10 <= ladder.measured <= ladder.forecast.p90
    assert f"{ladder.measured:.3f}" in said
    assert ("inside" in said) == inside
    assert said.endswith("misses one time in five.")


@pytest.mark.parametrize("station", STATIONS)
def test_every_state_is_strict_json(grown: Grown, station: str) -> None:
    assert strictly(state_json(grown.states[station]))["format"] == 1


def test_the_same_record_gives_the_same_bytes(grown: Grown) -> None:
    again = page_state(fanal.open(grown.made.record))
    assert state_json(again) == state_json(grown.states["done"])


def test_values_that_are_not_finite_become_nulls_with_marks_and_counts(faulty_state: PageState) -> None:
    hero = faulty_state.hero
    assert hero is not None
    assert hero.evals is not None
    assert hero.train is not None
    assert [hero.evals.value[i] for i in (4, 5)] == [None, None]
    assert [m.kind for m in hero.evals.marks] == ["NaN", "NaN"]
    assert sum(m.count for m in hero.train.marks) == 4
    assert [m.step for m in hero.skips] == [30, 31, 32, 50]
    assert {h.name: h.words for h in faulty_state.health}["Values"] == "6 values not finite"
    assert math.isfinite(hero.low)
    assert math.isfinite(hero.high)


def test_the_difference_is_the_eval_minus_the_median_and_leaves_out_what_is_not_finite(
    grown: Grown, faulty: Made
) -> None:
    hero = grown.states["done"].hero
    scores = fanal.open(grown.made.record).runs["hero"].events("forecast.score")
    pulse = [e.fields for e in scores if e.fields["metric"] == metrics.PULSE_MACRO]
    assert hero is not None
    assert [d.inside for d in hero.differences] == [f["inside"] for f in pulse]
    assert [d.difference for d in hero.differences] == pytest.approx(
        [f["measured"] - f["p50"] for f in pulse], abs=1e-4
    )
    broken = page_state(fanal.open(faulty.record)).hero
    assert broken is not None
    assert all(math.isfinite(d.measured) for d in broken.differences)


def test_a_resumed_run_is_stitched_and_its_restart_is_marked(faulty: Made, faulty_state: PageState) -> None:
    hero = faulty_state.hero
    assert hero is not None
    assert hero.train is not None
    (restart,) = hero.restarts
    assert restart.words == "attempt 2: resume"
    assert hero.train.rows == hero.step == round(0.7 * faulty.plan.hero.num_steps)
    row = next(r for r in faulty_state.progress.runs if r.run == "hero")
    assert (row.attempts, row.phase) == (2, Phase.RUNNING)
    told = [h.title for h in faulty_state.timeline.happenings]
    assert "Attempt 2: resume" in told
    assert "Interrupted" in told


def test_that_the_forecast_came_first_is_computed_from_sequence_numbers(grown: Grown, tmp_path: Path) -> None:
    sealed = grown.states["half"].hero
    assert sealed is not None
    assert sealed.band is not None
    assert sealed.band.before_step_0
    late = start(tmp_path / "record", Start(id="hero", role="hero"))
    late.log({metrics.TRAIN_LOSS: 5.0, metrics.PULSE_MACRO: 5.0}, step=0)
    late.event("forecast", sha256="0" * 64, document=grown.made.document)
    hero = page_state(fanal.open(tmp_path)).hero
    late.finish()
    assert hero is not None
    assert hero.band is not None
    assert not hero.band.before_step_0


def test_the_ladder_draws_each_finished_size_and_the_sealed_path(grown: Grown) -> None:
    early, late = grown.states["rung"].ladder, grown.states["half"].ladder
    assert early is not None
    assert late is not None
    assert [p.size for p in early.points] == ["d32", "d40"]
    assert [p.size for p in late.points] == ["d32", "d40", "d48", "d64"]
    assert [len(p.seeds) for p in late.points] == [3, 1, 1, 1]
    assert early.forecast is None
    assert late.path is not None
    foretold = grown.made.document["metrics"][metrics.FULL_MACRO]
    assert late.forecast is not None
    assert late.forecast.p50 == foretold["p50"][-1]
    assert late.path.flops[-1] == pytest.approx(grown.made.plan.hero.counts.flops, rel=1e-5)
    assert late.asymptote < min(late.path.p10)


def test_planned_and_drawn_tokens_add_up(grown: Grown) -> None:
    half, done = grown.states["half"].mixture, grown.states["done"].mixture
    assert half is not None
    assert done is not None
    assert [p.phase for p in half.phases] == [Phase.RUNNING, Phase.PLANNED]
    assert sum(r.phases[0].planned_frac for r in half.rows) == pytest.approx(1)
    drawn = [s.consumed_tokens for r in done.rows for s in r.phases]
    assert sum(d or 0 for d in drawn) == pytest.approx(grown.made.plan.hero.tokens, abs=20)
    assert all(r.phases[1].consumed_tokens is None for r in half.rows)


def test_the_router_maps_have_one_row_an_expert_and_stand_still(grown: Grown) -> None:
    half, done = grown.states["half"].router, grown.states["done"].router
    assert half is not None
    assert done is not None
    assert [layer.layer for layer in half.layers] == [0, 1]
    old, new = half.layers[0].load, done.layers[0].load
    assert old is not None
    assert new is not None
    assert len(old.cells) == 32
    filled = sum(v is not None for v in old.cells[0])
    assert 0 < filled < half.num_columns == done.num_columns
    assert old.cells[0][: filled - 1] == new.cells[0][: filled - 1]


def test_times_beyond_two_to_the_53_travel_as_strings(grown: Grown) -> None:
    shown = strictly(state_json(grown.states["half"]))
    assert shown["progress"]["last_ns"] == str(grown.states["half"].progress.last_ns)


def test_people_s_words_lose_their_direction_marks_and_keep_the_rest(faulty_state: PageState) -> None:
    shown = HOSTILE.replace("\u202e", "")
    assert faulty_state.title == faulty_state.question == shown
    assert faulty_state.samples[0].prompt == shown
    assert faulty_state.domains is not None
    assert faulty_state.domains.panels[0].domain == shown
    assert "\u202e" not in state_json(faulty_state).decode()


def test_the_estimate_to_the_end_is_within_a_factor_of_two(grown: Grown) -> None:
    rung, half, done = (grown.states[s].progress for s in ("rung", "half", "done"))
    for early in (rung, half):
        true = ((done.last_ns or 0) - (early.last_ns or 0)) / 1e9
        assert early.seconds_left is not None
        assert true / 2 < early.seconds_left < true * 2
    assert rung.rail_scale == "wall time"
    assert grown.states["data"].progress.seconds_left is None
    assert grown.states["data"].progress.rail_scale == "equal parts"


def test_the_rail_goes_from_left_to_right_without_gaps(grown: Grown) -> None:
    for station in STATIONS:
        rail = grown.states[station].progress.rail
        assert [p.label for p in rail] == ["data", "d32", "d40", "d48", "d64", "hero"]
        assert rail[0].first == 0
        assert rail[-1].last == pytest.approx(1)
        assert all(a.last == b.first for a, b in pairwise(rail))


def test_an_interrupted_campaign_says_so_with_its_reason(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="campaign", role="campaign"))
    run.finish("interrupted", "Ctrl-C")
    line = page_state(fanal.open(tmp_path)).headline
    assert line.lead == "Interrupted, before the first run;"
    assert line.rest.startswith("Ctrl-C.")
    assert line.silent_after_seconds is None


def test_a_silent_run_has_its_sentence_ready(grown: Grown) -> None:
    line = grown.states["half"].headline
    assert line.silent_after_seconds == 60
    assert line.silent_rest.startswith("Nothing since 21 September 2026, ")
    assert line.lead in line.silent_rest
    assert grown.states["done"].headline.silent_after_seconds is None


def test_a_run_outside_a_campaign_has_a_page_of_its_own(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(name="first try"))
    for step in range(40):
        run.log({"loss": 4.0 - step / 40, "length": step, "__proto__": 1.0, "": 2.0}, step=step)
    state = page_state(fanal.open(tmp_path))
    run.finish()
    assert state.title == "first try"
    assert state.headline.lead == "Run first-try at step 39;"
    assert state.hero is not None
    assert state.hero.train is not None
    assert state.hero.train.rows == 40
    assert (state.ladder, state.mixture, state.router, state.settings) == (None, None, None, None)


def test_an_empty_record_and_none_at_all_wait(tmp_path: Path) -> None:
    start(tmp_path / "record", Start(id="campaign", role="campaign")).finish()
    assert page_state(fanal.open(tmp_path)).hero is None
    assert waiting_state().headline.lead == "Waiting for the first row."
    assert strictly(state_json(waiting_state()))["progress"]["phase"] == "planned"


def test_the_page_asks_at_half_the_runs_pace_within_bounds(grown: Grown) -> None:
    assert poll_seconds(grown.states["half"]) == 0.5
    assert poll_seconds(grown.states["done"]) == 60
    assert poll_seconds(waiting_state()) == 1


def test_settings_carry_law_source_and_reason(grown: Grown) -> None:
    table = grown.states["begun"].settings
    assert table is not None
    assert table.sizes == ["d32", "d40", "d48", "d64", "hero"]
    layers = next(r for r in table.rows if r.name == "num_layers")
    assert (layers.status, layers.why, set(layers.values)) == ("set", "two CPU cores", {"2"})
    steps = next(r for r in table.rows if r.name == "num_steps")
    assert len(set(steps.values)) == 5


def test_a_smooth_run_is_one_line_and_faults_are_told_one_by_one(grown: Grown, faulty_state: PageState) -> None:
    of_d32 = [h for h in grown.states["done"].timeline.happenings if h.run == "d32"]
    assert [h.title for h in of_d32] == ["Trained"]
    skipped = [h for h in faulty_state.timeline.happenings if h.title == "Update skipped: non finite"]
    assert len(skipped) == 4
    assert {h.kind for h in skipped} == {"fault"}
