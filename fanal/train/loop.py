"""One training, from its latest checkpoint or from nothing to its last step: the order of a step is here.

Guarantees that a run killed or stopped anywhere and started again ends with the state, bit for bit, of a run
that was never stopped; that a finished run is not trained again; that Ctrl-C and SIGTERM end it after the
current step with a checkpoint. It opens no record, writes no summary and knows no other run.
"""

from pathlib import Path

from fanal.campaign.derived import RunPlan
from fanal.train import checkpoint
from fanal.train.inputs import TrainInputs, TrainResult
from fanal.train.session import Session, find, result_of


def train(run: RunPlan, inputs: TrainInputs) -> TrainResult:
    """Train `run` to its last step, or until it is told to stop, and end its attempt in the record.

    Raises:
        CheckpointError: a checkpoint that is damaged, of another plan or of other data.
    """
    session = Session(run, inputs)
    state = session.begin()
    for step in range(session.step + 1, run.num_steps + 1):
        if inputs.stop:
            return session.end("interrupted", state)
        batch = session.draw(step)
        state = session.take_step(step, state, batch)
        session.evaluate(step, state)
        session.sample(step, state)
        session.save(step, state)
        session.show(step)
    return session.end("finished", state)


def finished(run: RunPlan, checkpoints: Path, data_fingerprint: str) -> TrainResult | None:
    """The result of a run that has been trained to its end, or None; loads no array.

    Raises:
        CheckpointError: its latest checkpoint is of another plan or of other data.
    """
    ref = find(run, checkpoints, data_fingerprint)
    return result_of(run, ref) if ref is not None and ref.step == run.num_steps else None


def resume_point(checkpoints: Path) -> int | None:
    """The first step that `train` would log, one after the latest checkpoint's; None where it begins anew."""
    ref = checkpoint.latest(checkpoints)
    return ref.step + 1 if ref is not None else None
