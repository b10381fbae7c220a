"""Drills: a training in a process of its own, killed and stopped, with a real record."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fanal
from fanal.record import metrics
from fanal.train import checkpoint
from tests.worlds.train import KILLED_STEPS

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]
CHILD = """
import os
from fanal.train.environment import environment
os.environ.update(environment(os.environ))
from tests.worlds.train import train_in_process
train_in_process()
"""


def start(folder: Path, cache: Path) -> "subprocess.Popen[str]":
    env = os.environ | {"FANAL_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CHILD, str(folder)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def wait_for_step(child: "subprocess.Popen[str]", step: int) -> bool:
    """Read the child's steps until `step` is drawn; False where it ended before."""
    assert child.stdout is not None
    return any(line.startswith("step ") and int(line.split()[1]) >= step for line in child.stdout)


def finish(folder: Path, cache: Path) -> dict[str, object]:
    child = start(folder, cache)
    out, _ = child.communicate(timeout=300)
    assert child.returncode == 0
    return json.loads(out.splitlines()[-1])


def leaves(folder: Path) -> dict[str, str]:
    ref = checkpoint.latest(folder / "ckpt" / "d16")
    assert ref is not None
    return {leaf["name"]: leaf["sha256"] for leaf in ref.leaves}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert finish(folder, cache)["outcome"] == "finished"
    return folder


@pytest.mark.parametrize("seed", [1, 2])
def test_a_training_killed_again_and_again_ends_bit_for_bit_as_an_undisturbed_one(
    tmp_path: Path, cache: Path, undisturbed: Path, seed: int
) -> None:
    rng = random.Random(seed)
    for kill_at in sorted(rng.sample(range(1, KILLED_STEPS), 5)):
        child = start(tmp_path, cache)
        reached = wait_for_step(child, kill_at)
        if reached:
            child_pause(rng.uniform(0, 0.05))
        child.kill()
        child.communicate()
        assert not reached or child.returncode == -signal.SIGKILL
        found = checkpoint.list_checkpoints(tmp_path / "ckpt" / "d16")
        assert found.complete
    result = finish(tmp_path, cache)
    assert result["outcome"] == "finished"
    assert leaves(tmp_path) == leaves(undisturbed)
    for key in (metrics.TRAIN_LOSS, metrics.PULSE_MACRO, metrics.FULL_MACRO, metrics.LR_ADAM):
        assert series(tmp_path, key) == series(undisturbed, key)
    assert [step for step, _ in series(tmp_path, metrics.TRAIN_LOSS)] == list(range(1, KILLED_STEPS + 1))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_training_after_its_step_with_a_checkpoint(
    tmp_path: Path, cache: Path, undisturbed: Path, number: signal.Signals
) -> None:
    child = start(tmp_path, cache)
    assert wait_for_step(child, 20)
    child.send_signal(number)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    result = json.loads(out.splitlines()[-1])
    assert result["outcome"] == "interrupted"
    ref = checkpoint.latest(tmp_path / "ckpt" / "d16")
    assert ref is not None
    assert ref.step == result["step"]
    end = fanal.open(tmp_path).runs["d16"].events("attempt.end")[-1]
    assert (end.fields["outcome"], end.fields["reason"]) == ("interrupted", number.name)
    assert finish(tmp_path, cache)["outcome"] == "finished"
    assert leaves(tmp_path) == leaves(undisturbed)


def child_pause(seconds: float) -> None:
    """Let the child go on for a moment, so that it is killed at any point of a step."""
    signal.sigtimedwait([], seconds)


def series(folder: Path, key: str) -> list[tuple[int, float]]:
    found = fanal.open(folder).runs["d16"].series(key)
    return list(zip(found.steps.tolist(), found.values.tolist(), strict=True))
