import random

import pytest

from fanal.record.reading.lineage import FIRST_OF_ALL, LAST_OF_ALL, Beginning, Shown, attempts_behind, visible

World = dict[str, list[Beginning]]


def shown(world: World, run: str) -> list[tuple[str, int, int, int]]:
    """What a run shows; open ends as None would be unreadable, so they stay the extreme steps."""
    parts = visible(run, lambda name: world.get(name, []))
    return [(*part.node, part.first_step, part.end_step) for part in parts]


def brute_force(attempts: list[tuple[int, int | None, list[int]]]) -> dict[int, int]:
    """By step, the attempt that shows it; each attempt goes on from the one before it."""
    found: dict[int, int] = {}
    for number, from_step, steps in attempts:
        begin = from_step if from_step is not None else min(steps, default=None)
        if begin is not None and number > 1:
            found = {step: attempt for step, attempt in found.items() if step < begin}
        found |= {step: number for step in steps if number == 1 or begin is None or step >= begin}
    return found


def test_any_schedule_of_resumes_and_rewinds_equals_brute_force() -> None:
    chance = random.Random(4)
    for _ in range(500):
        attempts: list[tuple[int, int | None, list[int]]] = []
        start = 0
        for number in range(1, chance.randint(2, 7)):
            steps = list(range(start, start + chance.randint(0, 30), chance.choice([1, 1, 3])))
            attempts.append((number, chance.choice([start, None]), steps))
            start = chance.randint(0, (steps[-1] if steps else start) + 2)
        beginnings = [
            Beginning(number, from_step if from_step is not None else min(steps, default=None))
            for number, from_step, steps in attempts
        ]
        found = {
            step: attempt
            for _, attempt, first, end in shown({"a": beginnings}, "a")
            for step in attempts[attempt - 1][2]
            if first <= step < end
        }
        assert found == brute_force(attempts), attempts


def test_a_rewind_from_an_earlier_attempt_leaves_out_the_one_between() -> None:
    world = {"a": [Beginning(1, 0), Beginning(2, 50, 1), Beginning(3, 80, 1)]}
    assert shown(world, "a") == [("a", 1, FIRST_OF_ALL, 80), ("a", 3, 80, LAST_OF_ALL)]
    assert attempts_behind("a", lambda name: world.get(name, [])) == [("a", 1), ("a", 2), ("a", 3)]


def test_an_attempt_that_has_said_and_logged_nothing_hides_nothing() -> None:
    assert shown({"a": [Beginning(1, 0), Beginning(2, None, 1)]}, "a") == [("a", 1, FIRST_OF_ALL, LAST_OF_ALL)]


def test_a_resume_hides_what_it_takes_over_before_it_logs_anything() -> None:
    parts = visible("a", {"a": [Beginning(1, 0), Beginning(2, 201, 1)]}.__getitem__)
    assert parts == [Shown(("a", 1), FIRST_OF_ALL, 201), Shown(("a", 2), 201, LAST_OF_ALL)]


def test_a_fork_shows_the_other_run_below_its_first_step() -> None:
    world = {"a": [Beginning(1, 0), Beginning(2, 60)], "b": [Beginning(1, 80, None, "a")]}
    wanted = [("a", 1, FIRST_OF_ALL, 60), ("a", 2, 60, 80), ("b", 1, 80, LAST_OF_ALL)]
    assert shown(world, "b") == wanted
    assert shown(world, "a")[-1] == ("a", 2, 60, LAST_OF_ALL)


def test_a_fork_that_names_an_attempt_stays_as_the_other_run_goes_on() -> None:
    world = {"a": [Beginning(1, 0), Beginning(2, 10)], "b": [Beginning(1, 80, 1, "a")]}
    assert shown(world, "b") == [("a", 1, FIRST_OF_ALL, 80), ("b", 1, 80, LAST_OF_ALL)]
    assert attempts_behind("b", lambda name: world.get(name, [])) == [("a", 1), ("b", 1)]


def test_a_fork_of_a_run_that_is_not_there_shows_all_of_its_own() -> None:
    assert shown({"b": [Beginning(1, 80, 3, "gone")]}, "b") == [("b", 1, FIRST_OF_ALL, LAST_OF_ALL)]


def test_a_stitch_shows_each_part_until_the_next_begins() -> None:
    parts = (("a", 0), ("b", 50), ("c", 40), ("d", None))
    world = {name: [Beginning(1, 0)] for name in "abcd"} | {"s": [Beginning(1, None, parts=parts)]}
    assert shown(world, "s") == [("a", 1, 0, 40), ("c", 1, 40, LAST_OF_ALL)]


def test_a_run_may_be_two_parts_of_one_stitch() -> None:
    parts = (("a", 0), ("b", 10), ("a", 20))
    world = {"a": [Beginning(1, 0)], "b": [Beginning(1, 10)], "s": [Beginning(1, None, parts=parts)]}
    assert shown(world, "s") == [("a", 1, 0, 10), ("b", 1, 10, 20), ("a", 1, 20, LAST_OF_ALL)]
    assert attempts_behind("s", lambda name: world.get(name, [])) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    "world",
    [
        {"a": [Beginning(1, 0, 2), Beginning(2, 10, 2)]},
        {"a": [Beginning(1, 5, 1, "a")]},
        {"a": [Beginning(1, 5, None, "b")], "b": [Beginning(1, 3, None, "a")]},
        {"a": [Beginning(1, None, parts=(("a", 0),))]},
        {"a": [Beginning(1, None, parts=(("b", 0),))], "b": [Beginning(1, 7, None, "a")]},
    ],
    ids=["each other", "itself", "forks of each other", "a stitch of itself", "a stitch of a fork of itself"],
)
def test_runs_that_name_each_other_do_not_go_round(world: World) -> None:
    for run in world:
        parts = shown(world, run)
        assert parts == sorted(parts, key=lambda part: part[2])
        assert all(first < end for *_, first, end in parts)
        assert set(attempts_behind(run, lambda name: world.get(name, []))) >= {part[:2] for part in parts}


def test_thousands_of_attempts_are_no_trouble() -> None:
    world = {"a": [Beginning(number, number * 10) for number in range(1, 1501)]}
    assert len(shown(world, "a")) == 1500
