"""Random schedules of starts, resumes and rewinds, written for real and held against a brute force of twenty lines."""

import math
import random
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.record import closing
from fanal.record.attempt import Start, start
from fanal.record.close import close
from fanal.record.layout import all_writers
from fanal.record.read import RunView
from fanal.record.verify import verify

Logged = list[tuple[str, int, float]]
"""Key, step, value, in order."""
KEYS = ("a", "b", "c")


def schedule(chance: random.Random) -> list[tuple[int | None, Logged]]:
    """Attempts: the first step that they declare, and what they log; steps also go back inside an attempt."""
    attempts: list[tuple[int | None, Logged]] = []
    first = 0
    for _ in range(chance.randint(1, 5)):
        logged: Logged = []
        step = first
        for _ in range(chance.randint(0, 40)):
            keys = chance.sample(KEYS, chance.randint(1, 3))
            logged += [(key, step, chance.choice([chance.random(), math.nan, math.inf])) for key in keys]
            step = max(first, step + chance.choice([1, 1, 1, 2, -3]))
        attempts.append((chance.choice([first, None]), logged))
        first = chance.randint(0, step + 1)
    return attempts


def brute_force(attempts: list[tuple[int | None, Logged]], key: str) -> dict[int, tuple[int, float]]:
    """By step, the attempt and value that the default view shows."""
    shown: dict[int, tuple[int, float]] = {}
    for number, (declared, logged) in enumerate(attempts, 1):
        begin = declared if declared is not None else next((step for _, step, _ in logged), None)
        if number > 1 and begin is not None:
            shown = {step: point for step, point in shown.items() if step < begin}
        for name, step, value in logged:
            if name == key and (number == 1 or begin is None or step >= begin):
                shown[step] = (number, value)
    return shown


def check(view: RunView, attempts: list[tuple[int | None, Logged]]) -> None:
    for key in KEYS:
        wanted = brute_force(attempts, key)
        if not any(name == key for _, logged in attempts for name, _, _ in logged):
            continue
        series = view.series(key)
        assert series.steps.tolist() == sorted(wanted)
        assert series.attempts.tolist() == [wanted[step][0] for step in sorted(wanted)]
        np.testing.assert_array_equal(series.values, [wanted[step][1] for step in sorted(wanted)])
        num_points = sum(name == key for _, logged in attempts for name, _, _ in logged)
        assert num_points == len(series) + series.num_overwritten + series.num_superseded
        for number, (_, logged) in enumerate(attempts, 1):
            last = {step: value for name, step, value in logged if name == key}
            assert view.series(key, number).steps.tolist() == sorted(last)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_schedule_equals_brute_force_open_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(closing, "RUN_AS", ("-c", ""))  # first from the logs alone
    attempts = schedule(random.Random(seed))
    for declared, logged in attempts:
        run = start(tmp_path / "r", Start(id="a", from_step=declared))
        for key, step, value in logged:
            run.log({key: value}, step)
        run.finish()
    check(fanal.open(tmp_path / "r").runs["a"], attempts)
    for writer in list(all_writers(tmp_path / "r")):
        close(writer, everything=True)
    check(fanal.open(tmp_path / "r").runs["a"], attempts)
    assert verify(tmp_path / "r").ok
