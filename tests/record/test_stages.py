"""Stages, attempts that always end, and one process at a time in a folder."""

import multiprocessing
from pathlib import Path

import pytest

import fanal
from fanal.errors import DataError, RefusedError
from fanal.record.attempt import Run, Start, start
from fanal.record.stages import Stage, alone, ended, stage_seconds


def begin(folder: Path) -> Run:
    return start(folder, Start(id="campaign", role="campaign"))


def outcome(folder: Path) -> tuple[str | None, str | None]:
    campaign = fanal.open(folder).campaign
    assert campaign is not None
    return campaign.attempts[-1].outcome, campaign.attempts[-1].reason


def test_seconds_add_up_over_attempts_in_the_order_of_first_ends(tmp_path: Path) -> None:
    for names in (("b", "a"), ("b",)):
        run = begin(tmp_path / "r")
        for name in names:
            Stage.begin(run, name).end({"documents": 1})
        run.finish()
    record = fanal.open(tmp_path / "r")
    assert record.campaign is not None
    ends = record.campaign.events("stage.end")
    seconds = stage_seconds(record)
    assert list(seconds) == ["b", "a"]
    assert seconds["b"] == ends[0].fields["seconds"] + ends[2].fields["seconds"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DataError("no wheel"), ("failed", "no wheel")),
        (KeyboardInterrupt(), ("interrupted", "stopped by a person")),
        (ZeroDivisionError(), ("failed", "an error of Fanal's own")),
    ],
)
def test_a_block_left_by_an_error_ends_its_attempt_as_what_it_was(
    tmp_path: Path, error: BaseException, expected: tuple[str, str]
) -> None:
    with pytest.raises(type(error)), ended(begin(tmp_path / "r")):
        raise error
    assert outcome(tmp_path / "r") == expected


def test_a_block_that_ends_its_attempt_itself_is_believed(tmp_path: Path) -> None:
    with ended(begin(tmp_path / "r")) as run:
        run.finish()
    assert outcome(tmp_path / "r") == ("finished", None)


def hold(folder: Path, held: "multiprocessing.synchronize.Event", done: "multiprocessing.synchronize.Event") -> None:
    with alone(folder):
        held.set()
        done.wait(30)


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    held, done = spawn.Event(), spawn.Event()
    other = spawn.Process(target=hold, args=(tmp_path, held, done))
    other.start()
    assert held.wait(30)
    with pytest.raises(RefusedError, match="at work in another process"), alone(tmp_path):
        pass
    other.kill()
    other.join()
    with alone(tmp_path):
        pass
