"""What may enter a forecast: the rungs' sizes, compute and losses, in one unit, and nothing of the hero."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanal.campaign.fingerprint import plain
from fanal.errors import RefusedError
from fanal.ladder.rungs import WITH_HEAD, WITHOUT_HEAD, HeroPlan, LadderRecord, Rung, Rungs, Unit, read_rungs
from fanal.record.attempt import Start, start
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from fanal.record.reading.read import Record, open_record
from tests.worlds.ladder import TOKENIZER, FakeLadder, fake_ladder

UNIT = Unit("nats per token", TOKENIZER, "full")


def rung(name: str = "d16", flops: float = 1e10, losses: tuple[float, ...] = (4.0,), unit: Unit = UNIT) -> Rung:
    return Rung(name, 16, 200_000, 20_000, 100_000, {WITHOUT_HEAD: flops, WITH_HEAD: 2 * flops}, losses, unit)


@pytest.fixture(scope="module")
def ladder() -> FakeLadder:
    return fake_ladder(noise=0.01)


@pytest.fixture(scope="module")
def record(ladder: FakeLadder, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return open_record(ladder.write(tmp_path_factory.mktemp("ladder") / "record", hero=True))


def test_what_is_read_is_what_the_rungs_measured(ladder: FakeLadder, record: Record) -> None:
    read, expected = read_rungs(record, ladder.hero), ladder.record()
    assert read.levels.keys() == expected.levels.keys()
    assert [rung.name for rung in read.levels[FULL_MACRO][-1].rungs] == ["d16", "d20", "d24", "d32"]
    for metric, levels in expected.levels.items():
        assert read.levels[metric] == levels


def test_seeds_of_one_size_are_one_rung_with_one_loss_each(ladder: FakeLadder, record: Record) -> None:
    end = read_rungs(record, ladder.hero).levels[FULL_MACRO][-1]
    assert [len(rung.losses) for rung in end.rungs] == [3, 3, 1, 1]
    logs = [np.log(rung.losses) for rung in end.rungs[:2]]
    assert end.seed_sd_frac == pytest.approx(np.sqrt(np.mean([v.var(ddof=1) for v in logs])))


def test_compute_at_an_eval_is_the_whole_runs_times_the_share_of_steps_behind_it(
    ladder: FakeLadder, record: Record
) -> None:
    first, *_, last = read_rungs(record, ladder.hero).levels[PULSE_MACRO]
    assert first.progress == 11 / 109
    steps_of = {"d16": 2 / 18, "d20": 3 / 28, "d24": 4 / 40, "d32": 7 / 70}
    for early, late in zip(first.rungs, last.rungs, strict=True):
        assert early.flops[WITHOUT_HEAD] == pytest.approx(steps_of[early.name] * late.flops[WITHOUT_HEAD])


def test_between_two_evals_a_rungs_loss_is_interpolated_in_the_logarithm_of_the_share(
    ladder: FakeLadder, record: Record
) -> None:
    run = ladder.plan.rungs[-1]
    low, high = (step / run.num_steps for step in run.pulse_steps[3:5])
    share = round(2000 * (low + high) / 2) / 2000
    between = replace(ladder.hero, num_steps=2000, eval_steps={"pulse": (round(2000 * share),)})
    level = read_rungs(record, between, (PULSE_MACRO,)).levels[PULSE_MACRO][0]
    weight = np.log(share / low) / np.log(high / low)
    expected = (1 - weight) * ladder.loss(run, low) + weight * ladder.loss(run, high)
    assert level.rungs[-1].losses == pytest.approx((expected,))
    assert level.rungs[-1].flops[WITHOUT_HEAD] == pytest.approx(share * run.counts.flops)


def test_before_a_rungs_first_eval_nothing_is_interpolated(ladder: FakeLadder, record: Record) -> None:
    early = replace(ladder.hero, num_steps=2000, eval_steps={"pulse": (40,)})
    with pytest.raises(RefusedError, match=r"and 2.0 % lies outside its evals"):
        read_rungs(record, early, (PULSE_MACRO,))


class Sealed:
    """A hero that may be seen and not read: everything but its id and role raises."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        if name in ("id", "role"):
            return getattr(self._view, name)
        raise AssertionError(f"the hero's {name} was touched")


def test_the_hero_is_out_of_a_forecasts_reach(
    ladder: FakeLadder, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert record.runs["hero"].events("config"), "there is a hero to be reached"
    seen = read_rungs(record, ladder.hero)
    guarded = {name: Sealed(view) if view.role == "hero" else view for name, view in record.runs.items()}
    monkeypatch.setattr(record, "runs", guarded)
    with pytest.raises(AssertionError, match="the hero's series was touched"):
        record.runs["hero"].series(PULSE_MACRO)
    assert read_rungs(record, ladder.hero) == seen


def again(record: Record, ladder: FakeLadder, run: str, folder: Path) -> Record:
    """A copy of the record in which one run was trained a second time, from its first step, with another result."""
    shutil.copytree(record.path, folder)
    plan = next(plan for plan in ladder.plan.runs if plan.run == run)
    other = replace(ladder, factors={**ladder.factors, run: 2.0})
    other.train(start(folder, Start(id=run, role=plan.role, config=plain(plan), from_step=0)), plan)
    return open_record(folder)


def test_a_hero_that_measured_otherwise_changes_nothing(ladder: FakeLadder, record: Record, tmp_path: Path) -> None:
    other = again(record, ladder, "hero", tmp_path / "record")
    assert other.runs["hero"].series(FULL_MACRO).values[-1] != record.runs["hero"].series(FULL_MACRO).values[-1]
    assert read_rungs(other, ladder.hero) == read_rungs(record, ladder.hero)


def test_what_was_read_is_pinned_by_hashes_of_values_and_segments(
    ladder: FakeLadder, record: Record, tmp_path: Path
) -> None:
    before = read_rungs(record, ladder.hero).source
    after = read_rungs(again(record, ladder, "d16-s1", tmp_path / "record"), ladder.hero).source
    for part in ("values_sha256", "segments"):
        assert [run for run in before if before[run][part] != after[run][part]] == ["d16-s1"]
    assert all(re.fullmatch(r"[0-9a-f]{64}", name) for run in before.values() for name in run["segments"].values())


def test_a_record_without_rungs_is_refused(ladder: FakeLadder, tmp_path: Path) -> None:
    ladder.train(ladder.begin(tmp_path / "record", ladder.plan.hero), ladder.plan.hero)
    with pytest.raises(RefusedError, match="no run with role 'rung'"):
        read_rungs(open_record(tmp_path / "record"), ladder.hero)


def test_a_rung_that_is_not_finished_is_refused_by_name(ladder: FakeLadder, record: Record, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(record.path, tmp_path / "record"))
    plan = replace(ladder.plan.rungs[-1], run="d36", hidden=36)
    run = ladder.begin(folder, plan)
    half = replace(ladder, factors={**ladder.factors, "d36": 1.0})
    for step in range(plan.num_steps // 2):
        half.evals(run, plan, step)
    run.finish("interrupted")
    with pytest.raises(
        RefusedError, match=r"d36: eval/pulse/macro is scored from 10.0 to 40.0 % of the run, and 49.5 % lies"
    ):
        read_rungs(open_record(folder), ladder.hero, (PULSE_MACRO,))


def test_a_metric_that_a_rung_never_scored_is_refused_by_name(ladder: FakeLadder, record: Record) -> None:
    hero = replace(ladder.hero, eval_steps={"other": (10,)})
    with pytest.raises(RefusedError, match="run d16 has no 'eval/other/macro'"):
        read_rungs(record, hero, ("eval/other/macro",))


def test_a_run_that_diverged_is_no_rung() -> None:
    with pytest.raises(RefusedError, match="d16: a loss is missing or not finite"):
        rung(losses=(4.0, float("nan")))


MIXED: dict[str, Callable[[], Rungs]] = {
    "units": lambda: Rungs(FULL_MACRO, 1.0, (rung(), rung("d20", unit=replace(UNIT, kind="bits per byte")))),
    "tokenizers": lambda: Rungs(FULL_MACRO, 1.0, (rung(), rung("d20", unit=replace(UNIT, tokenizer_sha256="8" * 64)))),
    "eval sets": lambda: Rungs(FULL_MACRO, 1.0, (rung(), rung("d20", unit=replace(UNIT, eval_set="pulse")))),
    "conventions": lambda: Rungs(FULL_MACRO, 1.0, (rung(), replace(rung("d20"), flops={WITH_HEAD: 2e10}))),
}


@pytest.mark.parametrize("mixed", MIXED.values(), ids=MIXED.keys())
def test_a_ladder_of_mixed_units_or_conventions_is_refused(mixed: Callable[[], Rungs]) -> None:
    with pytest.raises(RefusedError, match="a ladder cannot mix"):
        mixed()


def test_a_convention_that_no_rung_states_is_refused() -> None:
    with pytest.raises(RefusedError, match="'6nd' is not stated by d16, d20"):
        Rungs(FULL_MACRO, 1.0, (rung(), rung("d20", 2e10))).points("6nd")


def test_flops_are_floats_so_that_6nd_cannot_overflow() -> None:
    params, tokens = 6_889_410_560, 137_788_211_200
    with np.errstate(over="ignore"):
        wrapped = int(np.int64(6) * np.int64(params) * np.int64(tokens))
    assert wrapped == -4_366_575_067_509_817_344
    with pytest.raises(ValueError, match="FLOPs must be positive finite floats"):
        rung(flops=wrapped)
    assert rung(flops=6.0 * params * tokens).flops[WITHOUT_HEAD] == pytest.approx(5.69568e21, rel=1e-5)


def test_a_ladder_without_repeated_seeds_has_no_measured_noise() -> None:
    assert Rungs(FULL_MACRO, 1.0, (rung(), rung("d20", 2e10))).seed_sd_frac == 0.0


def test_before_its_first_step_nothing_is_foretold(ladder: FakeLadder) -> None:
    assert 0 in ladder.hero.eval_steps["pulse"]
    assert min(ladder.hero.progress(PULSE_MACRO)) > 0


def test_the_heros_plan_says_its_compute_by_both_conventions(ladder: FakeLadder) -> None:
    hero, counts = HeroPlan.of(ladder.plan.hero), ladder.plan.hero.counts
    assert hero.flops == {WITHOUT_HEAD: counts.flops, WITH_HEAD: counts.flops_with_head}
    assert isinstance(ladder.record(), LadderRecord)
