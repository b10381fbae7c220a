"""Random schedules of starts, resumes, rewinds, forks and stitches by several writers, held against a brute force."""

import math
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.layout import all_writers
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record, RunView
from fanal.record.reading.stitch import stitch
from fanal.record.segments import closing
from fanal.record.segments.close import close

KEYS = ("a", "b", "c")
Where = tuple[int, str, int, str]
"""Step, run, attempt in that run, writer."""


@dataclass
class Told:
    """An attempt as it was written."""

    declared: int | None = None
    from_attempt: int | None = None
    from_run: str | None = None
    parts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    rows: list[tuple[str, str, int, float]] = field(default_factory=list[tuple[str, str, int, float]])
    """Writer, key, step, value, in order."""


World = dict[str, list[Told]]


def brute_force(world: World, run: str, key: str, upto: int | None = None) -> dict[Where, float]:
    """What the default view of a run shows of a key, or what it would show had it ended with attempt `upto`."""
    shown: dict[Where, float] = {}
    views: dict[int, dict[Where, float]] = {}
    for number, told in enumerate(world[run][:upto], 1):
        root = number == 1 and not told.from_run and not told.parts
        shown = dict(views[told.from_attempt]) if told.from_attempt and not told.from_run else shown
        if told.from_run:
            shown = brute_force(world, told.from_run, key, told.from_attempt)
        for other, first in told.parts:
            shown = {where: value for where, value in shown.items() if where[0] < first}
            view = brute_force(world, other, key)
            shown |= {where: value for where, value in view.items() if where[0] >= first}
        begin = told.declared if told.declared is not None else first_row(told)
        if not root and begin is not None:
            shown = {where: value for where, value in shown.items() if where[0] < begin}
        for writer, name, step, value in told.rows:
            if name == key and (root or begin is None or step >= begin):
                shown[step, run, number, writer] = value
        views[number] = dict(shown)
    return shown


def first_row(told: Told) -> int | None:
    """The lowest step with which one of the writers began."""
    return min(({writer: step for writer, _, step, _ in reversed(told.rows)}).values(), default=None)


def write_attempt(folder: Path, chance: random.Random, how: Start, told: Told) -> None:
    """An attempt of one to three writers, whose steps also go back."""
    runs = [start(folder, how)]
    runs += [start(folder, Start(id=how.id, shared=True)) for _ in range(chance.choice([0, 0, 1, 2]))]
    names = [run.place.writer for run in runs if run.place]
    first = how.from_step or 0
    steps = [first] * len(runs)
    for _ in range(chance.randint(0, 40)):
        i = chance.randrange(len(runs))
        row = {key: chance.choice([chance.random(), math.nan, math.inf, -0.0]) for key in chance.sample(KEYS, 2)}
        runs[i].log(row, steps[i])
        told.rows += [(names[i], key, steps[i], value) for key, value in row.items()]
        steps[i] = max(first, steps[i] + chance.choice([1, 1, 1, 2, -3]))
    for run in reversed(runs):
        run.finish()


def write_world(folder: Path, chance: random.Random) -> World:
    world: World = {}
    for turn in range(chance.randint(4, 9)):
        act = chance.choice(["new", "again", "again", "back", "fork", "stitch"]) if world else "new"
        last = max((step for tolds in world.values() for told in tolds for _, _, step, _ in told.rows), default=0)
        with_rows = [run for run, tolds in world.items() if any(told.rows or told.parts for told in tolds)]
        run, told, given = f"r{turn}", Told(), None
        if act == "stitch" and len(with_rows) >= 2:
            parts = chance.sample(with_rows, chance.randint(2, len(with_rows)))
            found = stitch(folder, parts, run)
            assert [part.run for part in found.parts] == parts
            told.parts = [(part.run, shown_from(world, part.run)) for part in found.parts]
            assert [(part.run, part.from_step) for part in found.parts] == told.parts
        else:
            told.declared = chance.choice([None, chance.randint(0, last + 2)])
            if act == "fork":
                told.from_run = chance.choice(list(world))
                given = chance.choice([None, chance.randint(1, len(world[told.from_run]))])
                told.from_attempt = given or len(world[told.from_run])  # the last one of that moment
            elif act in ("again", "back"):
                run = chance.choice(list(world))
                told.from_attempt = chance.randint(1, len(world[run])) if act == "back" else len(world[run])
            from_attempt = given if act == "fork" else told.from_attempt
            how = Start(id=run, from_step=told.declared, from_run=told.from_run, from_attempt=from_attempt)
            write_attempt(folder, chance, how, told)
        world.setdefault(run, []).append(told)
    return world


def shown_from(world: World, run: str) -> int:
    return min(where[0] for key in KEYS for where in brute_force(world, run, key))


def check(record: Record, world: World) -> None:
    for run in world:
        view = record.runs[run]
        for key in KEYS:
            check_key(view, key, brute_force(world, run, key), world)


def check_key(view: RunView, key: str, wanted: dict[Where, float], world: World) -> None:
    if key not in view.keys():  # noqa: SIM118
        assert not wanted
        return
    series, origins = view.series(key), view.series(key).origins
    where = [
        (step, origins[number].run, origins[number].attempt, origins[number].writers[writer])
        for step, number, writer in zip(
            series.steps.tolist(), series.attempts.tolist(), series.writers.tolist(), strict=True
        )
    ]
    assert where == sorted(wanted)
    assert series.values.tobytes() == np.array([wanted[one] for one in sorted(wanted)]).tobytes()
    behind = [(attempt.run, attempt.of_run) for attempt in view.attempts]
    logged = [row for run, number in behind for row in world[run][number - 1].rows if row[1] == key]
    assert len(logged) == len(series) + series.num_overwritten + series.num_superseded
    for attempt in view.attempts:  # nothing is unreachable
        rows = world[attempt.run][attempt.of_run - 1].rows
        points = {(step, writer): value for writer, name, step, value in rows if name == key}
        mine = view.series(key, attempt.number)
        assert mine.steps.tolist() == [step for step, _ in sorted(points)]
        assert mine.values.tobytes() == np.array([points[one] for one in sorted(points)]).tobytes()


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 13, 19, 20, 25, 26, 27])
def test_a_random_schedule_equals_brute_force_open_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(closing, "RUN_AS", ("-c", ""))  # first from the logs alone
    world = write_world(tmp_path / "r", random.Random(seed))
    check(fanal.open(tmp_path / "r"), world)
    for writer in list(all_writers(tmp_path / "r")):
        close(writer, everything=True)
    check(fanal.open(tmp_path / "r"), world)
    assert verify(tmp_path / "r").ok
