"""Seconds of a step by width, from what a record measured."""

from pathlib import Path

import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.metrics import TRAIN_STEP_SECONDS
from fanal.record.pace import seconds_per_step


def test_the_median_of_the_last_half_counts_and_seeds_of_one_width_are_averaged(tmp_path: Path) -> None:
    for run, seconds in (("d16", [9.0, 8.0, 0.2, 0.2, 5.0]), ("d16-s1", [0.4]), ("d20", [1.0])):
        opened = start(tmp_path, Start(id=run, config={"hidden": int(run[1:3])}, role="rung"))
        for step, value in enumerate(seconds, start=1):
            opened.log({TRAIN_STEP_SECONDS: value}, step)
        opened.finish()
    start(tmp_path, Start(id="d24", config={"hidden": 24}, role="rung")).finish()
    assert seconds_per_step(fanal.open(tmp_path)) == pytest.approx({16: (0.2 + 0.4) / 2, 20: 1.0})
