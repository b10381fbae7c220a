import random

from fanal.record.lineage import LAST_OF_ALL, Beginning, Visible, visible


def brute_force(attempts: list[tuple[int, int | None, list[int]]]) -> dict[int, int]:
    """By step, the attempt that shows it; each attempt goes on from the one before it."""
    shown: dict[int, int] = {}
    for number, from_step, steps in attempts:
        begin = from_step if from_step is not None else min(steps, default=None)
        if begin is not None and number > 1:
            shown = {step: attempt for step, attempt in shown.items() if step < begin}
        shown |= {step: number for step in steps if number == 1 or begin is None or step >= begin}
    return shown


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
            Beginning(number, from_step if from_step is not None else min(steps, default=None), None)
            for number, from_step, steps in attempts
        ]
        parts = visible(beginnings)
        found = {
            step: part.attempt
            for part in parts
            for step in attempts[part.attempt - 1][2]
            if part.first_step <= step < part.end_step
        }
        assert found == brute_force(attempts), attempts


def test_a_fork_from_an_earlier_attempt_leaves_out_the_one_between() -> None:
    parts = visible([Beginning(1, 0, None), Beginning(2, 50, 1), Beginning(3, 80, 1)])
    assert [(part.attempt, part.end_step) for part in parts] == [(1, 80), (3, LAST_OF_ALL)]


def test_an_attempt_that_has_said_and_logged_nothing_hides_nothing() -> None:
    parts = visible([Beginning(1, 0, None), Beginning(2, None, 1)])
    assert [part.attempt for part in parts] == [1]


def test_a_resume_hides_what_it_takes_over_before_it_logs_anything() -> None:
    parts = visible([Beginning(1, 0, None), Beginning(2, 201, 1)])
    assert parts[0].end_step == 201
    assert parts[1] == Visible(2, 201, LAST_OF_ALL)


def test_attempts_that_name_each_other_do_not_go_round() -> None:
    assert [part.attempt for part in visible([Beginning(1, 0, 2), Beginning(2, 10, 2)])] == [1, 2]
