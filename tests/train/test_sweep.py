"""The sweep: variants, the best of each size, the law through them."""

import json
import math
from dataclasses import replace

import pytest

from fanal.train.compile import Compiler
from fanal.train.inputs import TrainInputs
from fanal.train.journal import Unrecorded
from fanal.train.stop import StopFlag
from fanal.train.sweep import (
    PUBLISHED_HIDDEN_EXP,
    PUBLISHED_TOKENS_EXP,
    SweepPoint,
    best_rates,
    fit_law,
    report,
    sweep,
    variants,
)
from tests.worlds.train import tiny_inputs, tiny_run

GRID = (0.01, 0.02, 0.04)


def bowl(adam: float, muonh: float, hidden: int = 32, tokens: int = 100_000) -> list[SweepPoint]:
    """Nine points of a quadratic in the logarithms whose smallest value, 3, is at (adam, muonh)."""

    def loss(a: float, m: float) -> float:
        x, y = math.log2(a / adam), math.log2(m / muonh)
        return 3 + 0.1 * x * x + 0.05 * y * y + 0.02 * x * y

    return [SweepPoint("r", hidden, tokens, a, m, 0.0, loss(a, m)) for a in GRID for m in GRID]


@pytest.mark.parametrize(("adam", "muonh"), [(0.02, 0.02), (0.015, 0.03), (0.03, 0.012)])
def test_the_best_rates_of_an_exact_bowl_are_found(adam: float, muonh: float) -> None:
    best = best_rates(bowl(adam, muonh))
    assert best.adam_lr == pytest.approx(adam, rel=0.01)
    assert best.muonh_lr == pytest.approx(muonh, rel=0.01)
    assert best.loss == pytest.approx(3, abs=1e-4)
    assert best.inside


def test_a_best_outside_what_was_swept_is_put_at_the_edge_and_said() -> None:
    best = best_rates(bowl(0.1, 0.02))
    assert best.adam_lr == pytest.approx(0.04)
    assert not best.inside
    assert "at the edge" in report(bowl(0.1, 0.02)).text


def test_a_training_that_diverged_is_left_out_and_too_few_are_refused() -> None:
    points = bowl(0.02, 0.02)
    lost = [replace(p, full_loss=math.nan) if p.adam_lr == 0.04 else p for p in points]
    assert best_rates(lost).loss == pytest.approx(3, abs=0.01)
    with pytest.raises(ValueError, match="six finite losses, got 5 of 9"):
        best_rates([*lost[:5], *(replace(p, full_loss=math.inf) for p in lost[5:])])


def test_losses_that_are_not_finite_are_null_in_json_and_said_in_words() -> None:
    lost = [replace(p, pulse_loss=-math.inf, full_loss=math.nan) if p.adam_lr == 0.04 else p for p in bowl(0.02, 0.02)]
    found = report(lost)
    points = json.loads(json.dumps(found.to_json(), allow_nan=False))["points"]
    assert [(p["pulse_loss"], p["full_loss"]) for p in points if p["adam_lr"] == 0.04] == [(None, None)] * 3
    assert [p["full_loss"] for p in points[:6]] == [p.full_loss for p in lost[:6]]
    assert found.text.count("not finite") == 6
    assert "nan" not in found.text


def test_the_law_finds_exponents_when_sizes_and_lengths_vary_enough() -> None:
    sizes = [(h, t) for h in (32, 512, 8192) for t in (10**5, 10**8, 10**11)]
    law = fit_law([(h, t, 0.02 * (h / 32) ** -0.6 * (t / 1e5) ** -0.1) for h, t in sizes])
    assert law.factor == pytest.approx(0.02, rel=0.02)
    assert law.hidden_exp == pytest.approx(-0.6, abs=0.02)
    assert law.tokens_exp == pytest.approx(-0.1, abs=0.01)


def test_one_size_gives_its_own_rate_and_the_published_exponents() -> None:
    law = fit_law([(40, 150_000, 0.03)])
    assert law(40, 150_000) == pytest.approx(0.03)
    assert (law.hidden_exp, law.tokens_exp) == (
        pytest.approx(PUBLISHED_HIDDEN_EXP),
        pytest.approx(PUBLISHED_TOKENS_EXP),
    )


def test_two_sizes_move_the_exponents_towards_what_they_say_and_no_further() -> None:
    steep = fit_law([(32, 118_000, 0.04), (40, 177_000, 0.02)])
    flat = fit_law([(32, 118_000, 0.03), (40, 177_000, 0.03)])
    assert steep.tokens_exp < PUBLISHED_TOKENS_EXP < flat.tokens_exp
    assert 0.02 < steep(40, 177_000) < steep(32, 118_000) < 0.04


def test_variants_span_the_grid_and_adamh_is_tied_to_muonh() -> None:
    run = tiny_run()
    found = variants(run, (0.5, 1.0, 2.0))
    assert len({v.run for v in found}) == 9
    for v in found:
        assert v.optimizer.adamh_lr / v.optimizer.muonh_lr == pytest.approx(
            run.optimizer.adamh_lr / run.optimizer.muonh_lr
        )
        assert (v.pulse_steps, v.full_steps, v.sample_steps) == ((12,), (12,), ())
    assert run.optimizer in [v.optimizer for v in found]


def test_a_sweep_trains_every_variant_and_reports_it(compiler: Compiler) -> None:
    def inputs_of(run: object) -> TrainInputs:
        return tiny_inputs(compiler, None, record=Unrecorded())

    found = sweep([tiny_run()], inputs_of)
    assert len(found.points) == 9
    assert len({p.full_loss for p in found.points}) == 9
    assert len(found.best) == 1
    document = found.to_json()
    assert document["laws"]["adam_lr"]["factor"] > 0
    assert all(p.run in found.text for p in found.points)


def test_a_sweep_that_is_told_to_stop_stops(compiler: Compiler) -> None:
    stop = StopFlag()
    stop.set("SIGINT")
    with pytest.raises(KeyboardInterrupt):
        sweep([tiny_run()], lambda _: tiny_inputs(compiler, None, record=Unrecorded(), stop=stop))
