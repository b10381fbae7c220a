"""The firefly campaign killed again and again, wherever it is, until it ends: the bits of an undisturbed run."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

import fanal as library
from fanal.record.proof.verify import verify
from tests.worlds.firefly import Finished, command, environment, fanal, final_leaves

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

KILLS = 12
PACE_SECONDS = (1.5, 7.0)
"""Between two kills: shorter than a run of the campaign, longer than its start."""


def run_for(seconds: float, cwd: Path) -> bool:
    """Run the campaign and SIGKILL it after `seconds`; True where it ended before that."""
    process = subprocess.Popen(
        command(("run", "firefly", "--quiet")), cwd=cwd, env=environment(), stdout=subprocess.DEVNULL
    )
    try:
        assert process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    return True


@pytest.mark.parametrize("seed", [0, 1])
def test_killed_at_any_moment_the_campaign_ends_bitwise_the_same(firefly: Finished, tmp_path: Path, seed: int) -> None:
    pace = random.Random(seed)
    folder = tmp_path / "runs" / "firefly"
    for kill in range(KILLS):
        if run_for(pace.uniform(*PACE_SECONDS), tmp_path):
            break
        if (folder / "record" / "record.json").exists():
            assert verify(folder).ok, f"after kill {kill}: {verify(folder).words}"
    done = fanal("run", "firefly", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert final_leaves(folder) == final_leaves(firefly.folder)
    assert verify(folder).ok, verify(folder).words
    for name, undisturbed in library.open(firefly.folder).runs.items():
        killed = library.open(folder).runs[name]
        for key in ("train/loss", "eval/full/macro"):
            assert killed.series(key).steps.tolist() == undisturbed.series(key).steps.tolist(), (name, key)
            assert killed.series(key).values.tolist() == undisturbed.series(key).values.tolist(), (name, key)


def test_two_calls_at_once_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "firefly"
    first = subprocess.Popen(
        command(("run", "firefly", "--quiet")), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL
    )
    while not (folder / ".lock").exists():
        assert first.poll() is None
        time.sleep(0.05)
    try:
        second = fanal("run", "firefly", "--quiet", cwd=tmp_path)
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 3
    assert "at work in another process" in second.stderr
