"""Pains, class B (checkpoints): B3, B4, B5, B7."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.campaign.derived import RunPlan
from fanal.data.batches import Batch
from fanal.errors import CheckpointError
from fanal.record import metrics
from fanal.train import checkpoint
from fanal.train.checkpoint import CheckpointInfo
from fanal.train.compile import compiling
from fanal.train.inputs import TrainInputs
from fanal.train.loop import train
from tests.worlds.train import Kept, MadeBatches, tiny_inputs, tiny_run

KILLED_WHILE_SAVING = """
import os, signal, sys
from pathlib import Path
import numpy as np
from fanal.train import checkpoint

when, folder = sys.argv[1], Path(sys.argv[2])
state = lambda step: {"w": np.full((64, 64), step, np.float32), "step": np.asarray(step, np.int32)}
info = lambda step: checkpoint.CheckpointInfo("d32", "f", step, position=step, updates=step)
checkpoint.save(folder, state(10), info(10))

class FirstFileOnly:
    def save(self, path, arrays):
        path.mkdir(parents=True)
        (path / "first").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if when == "first file":
    checkpoint.ocp.PyTreeCheckpointer = FirstFileOnly
elif when == "before the manifest":
    checkpoint.write_whole = kill
else:
    os.replace = kill
checkpoint.save(folder, state(20), info(20))
"""


@pytest.mark.parametrize("when", ["first file", "before the manifest", "before the rename"])
def test_b3_killed_while_saving_leaves_the_last_good_one_and_is_never_in_the_way(tmp_path: Path, when: str) -> None:
    child = subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, when, str(tmp_path)], timeout=120, check=False)
    assert child.returncode == -signal.SIGKILL
    assert any((tmp_path / "step-20").glob(".tmp-*")) is (when == "before the rename")
    ref = checkpoint.latest(tmp_path)
    assert ref is not None
    template = {"w": np.zeros((64, 64), np.float32), "step": np.zeros((), np.int32)}
    assert ref.step == 10
    assert int(checkpoint.load(ref, template)["step"]) == 10
    assert checkpoint.list_checkpoints(tmp_path).incomplete == (tmp_path / "step-20",)
    again = {"w": np.full((64, 64), 20, np.float32), "step": np.asarray(20, np.int32)}
    checkpoint.save(tmp_path, again, CheckpointInfo("d32", "f", 20, position=20, updates=20))
    after = checkpoint.latest(tmp_path)
    assert after is not None
    assert after.step == 20
    assert float(checkpoint.load(after, template)["w"][0, 0]) == 20.0
    assert checkpoint.list_checkpoints(tmp_path).incomplete == ()


@pytest.mark.parametrize(("names", "step"), [(("step-200", "step-1000"), 1000), (("100000", "0900000"), 900000)])
def test_b4_the_latest_is_the_highest_number_and_odd_names_are_ignored(
    tmp_path: Path, names: tuple[str, ...], step: int
) -> None:
    for name in names:
        saved = checkpoint.save(
            tmp_path / "made", {"w": np.zeros(2, np.float32)}, _info(int(name.removeprefix("step-")))
        )
        saved.path.rename(tmp_path / name)
    (tmp_path / "handpicked").mkdir()
    (tmp_path / "handpicked" / "manifest.json").write_text("{}")
    (tmp_path / "step-9999999.txt").write_text("no folder")
    ref = checkpoint.latest(tmp_path)
    assert ref is not None
    assert ref.step == step
    assert checkpoint.list_checkpoints(tmp_path).incomplete == ()


@pytest.mark.parametrize(("saved", "wanted"), [(jnp.int32, jnp.float32), (jnp.float32, jnp.bfloat16)])
def test_b5_a_restore_into_another_dtype_is_an_error_that_names_the_leaf_and_both(
    tmp_path: Path, saved: type, wanted: type
) -> None:
    ref = checkpoint.save(tmp_path, {"moments": {"mu": jnp.full(3, 16777217, saved)}}, _info(1))
    both = rf"leaf 'moments/mu' is {np.dtype(wanted)}\[3\] in the state and {np.dtype(saved)}\[3\] in the checkpoint"
    with pytest.raises(CheckpointError, match=both):
        checkpoint.load(ref, {"moments": {"mu": jnp.zeros(3, wanted)}})
    same = checkpoint.load(ref, {"moments": {"mu": jnp.zeros(3, saved)}})
    assert int(same["moments"]["mu"][0]) == int(jnp.asarray(16777217, saved))


def test_b7_a_resume_at_60_goes_on_with_the_rate_and_the_moments_of_the_unbroken_run(tmp_path: Path) -> None:
    run = _b7_run()
    with compiling() as compiler:
        whole = _train_to(61, tiny_inputs(compiler, tmp_path / "whole" / "d16"), run)
        first = _train_to(60, tiny_inputs(compiler, tmp_path / "broken" / "d16"), run)
        second = _train_to(61, tiny_inputs(compiler, tmp_path / "broken" / "d16"), run)
    peak = run.optimizer.adam_lr
    assert first.rows[60][metrics.LR_ADAM] / peak == pytest.approx(0.5, rel=1e-6)
    assert list(second.rows) == [61]
    assert second.rows[61][metrics.LR_ADAM] / peak == pytest.approx(0.49, rel=1e-6)
    assert second.rows[61][metrics.TRAIN_LOSS] == whole.rows[61][metrics.TRAIN_LOSS]
    assert _leaves(tmp_path / "broken" / "d16") == _leaves(tmp_path / "whole" / "d16")


def _b7_run() -> RunPlan:
    """Warm-up of 10 steps, linear decay to 0 at step 110."""
    run = tiny_run(110, pulse_steps=(), full_steps=(), checkpoint_steps=())
    optimizer = replace(run.optimizer, warmup_tokens=10 * run.batch_tokens, final_lr_frac=0.0)
    return replace(run, optimizer=optimizer)


def _train_to(step: int, inputs: TrainInputs, run: RunPlan) -> Kept:
    """Train until `step` has been taken, save there, and give what was recorded."""

    class Until(MadeBatches):
        def batch(self, position: int, num_seqs: int) -> Batch:
            if position == (step - 1) * num_seqs:
                inputs.stop.set("enough")
            return super().batch(position, num_seqs)

    result = train(run, replace(inputs, batches=Until()))
    assert (result.step, result.updates, result.interrupted) == (step, step, True)
    assert isinstance(inputs.record, Kept)
    return inputs.record


def _leaves(folder: Path) -> dict[str, str]:
    ref = checkpoint.latest(folder)
    assert ref is not None
    assert any(leaf["name"].startswith("moments/") for leaf in ref.leaves)
    return {leaf["name"]: leaf["sha256"] for leaf in ref.leaves}


def _info(step: int) -> CheckpointInfo:
    return CheckpointInfo("d32", "f", step, position=step, updates=step)
