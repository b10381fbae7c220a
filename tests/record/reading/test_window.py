import math
import random
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.reading.read import RunView, Series
from fanal.record.reading.window import Buckets, window

ATTEMPTS = ((0, 6000, 1), (4700, 7200, 1), (7100, 40_000, 7))
"""First step, end, stride: two rewinds, three segments and more."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """Three attempts with a key that float32 holds, one that it does not, one that goes back, one seldom logged."""
    folder = tmp_path_factory.mktemp("tiles") / "r"
    chance = np.random.default_rng(3)
    for first, end, stride in ATTEMPTS:
        writing = start(folder, Start(id="a", from_step=first))
        for step in range(first, end, stride):
            short = float(np.float32(chance.normal()))
            odd = {0: math.nan, 1: math.inf, 2: -math.inf, 3: 1e9}.get(int(chance.integers(400)), short)
            writing.log({"short": odd, "long": chance.normal(), "nan": math.nan}, step)
            if step % 50 == 0:
                writing.log({"seldom": float(step)}, step)
        for step in range(first, first + 500):
            writing.log({"back": float(step)}, step)
        for step in range(first + 100, first + 300):
            writing.log({"back": -float(step)}, step)
        writing.finish()
    return fanal.open(folder).runs["a"]


def check(found: Buckets, series: Series, first: int, last: int) -> None:
    inside = (series.steps >= first) & (series.steps <= last)
    steps, values = series.steps[inside], series.values[inside]
    assert found.counts.sum() == len(steps)
    assert (found.first_steps[1:] > found.last_steps[:-1]).all()
    for n in range(len(found.counts)):
        mine = values[(steps >= found.first_steps[n]) & (steps <= found.last_steps[n])]
        finite = mine[np.isfinite(mine)]
        assert (found.counts[n], found.nonfinite[n]) == (len(mine), len(mine) - len(finite))
        if len(finite) == 0:
            assert np.isnan([found.minima[n], found.maxima[n], found.means[n]]).all()
            continue
        assert (found.minima[n], found.maxima[n]) == (finite.min(), finite.max())
        assert abs(found.means[n] - finite.mean()) <= 2**-15 * np.abs(finite).max()


@pytest.mark.parametrize("key", ["short", "long", "nan", "seldom", "back"])
def test_any_window_equals_brute_force(run: RunView, key: str) -> None:
    series = run.series(key)
    chance = random.Random(7)
    for _ in range(60):
        first, last = sorted(chance.randint(-10, 40_010) for _ in range(2))
        most = chance.choice([1, 2, 7, 50, 400, 5000])
        found = window(run, key, first, last, most)
        assert len(found.counts) <= most
        check(found, series, first, last)


def test_a_wide_view_reads_few_buckets(run: RunView) -> None:
    found = window(run, "short", 0, 40_000, 10)
    assert found.counts.sum() == len(run.series("short"))
    assert found.num_read < 250


def test_one_spike_and_one_nan_show_at_any_zoom(tmp_path: Path) -> None:
    writing = start(tmp_path / "r", Start(id="a"))
    for step in range(20_000):
        writing.log({"x": 99.0 if step == 12_345 else math.nan if step == 777 else 1.0}, step)
    writing.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    for most in (1, 10, 300, 1000):
        found = window(view, "x", 0, 20_000, most)
        assert (found.maxima.max(), found.nonfinite.sum()) == (99.0, 1)
        bucket = int(found.maxima.argmax())
        assert found.first_steps[bucket] <= 12_345 <= found.last_steps[bucket]
    exact = window(view, "x", 12_340, 12_350, 300)
    assert exact.counts.tolist() == [1] * 11
    assert exact.maxima.tolist() == [1.0] * 5 + [99.0] + [1.0] * 5


def test_rows_that_are_not_closed_are_drawn_raw(tmp_path: Path) -> None:
    writing = start(tmp_path / "r", Start(id="a"))
    for step in range(500):
        writing.log({"x": float(step)}, step)
    found = window(fanal.open(tmp_path / "r").runs["a"], "x", 0, 499, 5)
    assert found.counts.tolist() == [100] * 5
    assert found.maxima.tolist() == [99.0, 199.0, 299.0, 399.0, 499.0]
    writing.finish()


def test_what_cannot_be_asked_is_said(run: RunView) -> None:
    with pytest.raises(KeyError, match="nearest: short"):
        window(run, "shorts", 0, 1, 5)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        window(run, "short", 0, 1, 0)
    assert len(window(run, "short", -9, -1, 5).counts) == 0


def test_samples_in_time_are_all_there_whatever_attempts_began_since(tmp_path: Path) -> None:
    for attempt in range(2):
        run = start(tmp_path / "r", Start(id="a", from_step=attempt * 10))
        run.event("metric", pattern="system/*", axis="time")
        for sample in range(300):
            run.log({"system/cpu": float(sample)}, attempt * 10 + sample // 20)
        run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    buckets = window(view, "system/cpu", 0, 100, 50)
    assert buckets.counts.sum() == len(view.series("system/cpu")) == 600
