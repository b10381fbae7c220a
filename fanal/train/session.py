"""What a training holds between two steps, and each thing that may happen after one.

Guarantees that whatever follows a step (evals, samples, a checkpoint) comes after the step's row in the record;
that a checkpoint is loaded only by the plan and the data that made it. Nothing here decides an order: `loop.py` does.
"""

import math
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import jax
from jaxtyping import Array

from fanal.campaign.derived import RunPlan
from fanal.data.batches import Batch
from fanal.errors import CheckpointError
from fanal.evals import perplexity
from fanal.model.decode import continue_prompt
from fanal.record.files import canonical, sha256
from fanal.train import checkpoint
from fanal.train.checkpoint import CheckpointInfo, CheckpointRef
from fanal.train.clock import Clock
from fanal.train.compile import Rates, arrays_of, shape_of
from fanal.train.inputs import Samples, TrainInputs, TrainResult
from fanal.train.journal import Dispatched, Journal
from fanal.train.progress import Progress
from fanal.train.state import TrainState, init_state


class Session:
    """One attempt at one run."""

    def __init__(self, run: RunPlan, inputs: TrainInputs) -> None:
        self.run, self.inputs = run, inputs
        self.fingerprint = fingerprint(run, inputs.data_fingerprint)
        self.found = find(run, inputs.checkpoints, inputs.data_fingerprint)
        progress = self.found.info.progress if self.found else {}
        self.step = self.found.step if self.found else 0
        self.scores = {key: float(value) for key, value in progress.get("scores", {}).items()}
        self.clock = Clock(progress.get("seconds"))
        self.journal = Journal(run, inputs.record, self.clock, inputs.settings.norms_every_steps)
        self.saved_step = self.found.step if self.found else None
        self.saved_at = 0.0
        self.packed = {
            name: perplexity.pack(eval_set, run.batch_seqs, run.seq_tokens)
            for name, eval_set in inputs.eval_sets.items()
        }
        with self.clock.part("compile"):
            self.programs = inputs.compiler.programs(run)
        self.rates = Rates.of(run)
        self.progress = Progress(run.run, (self.step, run.num_steps), run.batch_tokens, quiet=inputs.settings.quiet)
        self._say_incomplete()

    def begin(self) -> TrainState:
        """The state to go on from; a run that begins is measured before its first step."""
        self.saved_at = time.monotonic()
        if self.found is not None:
            self.progress.say(f"goes on after step {self.step} from {self.found.path}")
            return checkpoint.load(self.found, jax.eval_shape(partial(init_state, self.run)))
        state = init_state(self.run)
        self.evaluate(0, state)
        self.sample(0, state)
        return state

    def draw(self, step: int) -> Batch:
        """The batch of `step`."""
        with self.clock.part("data"):
            return self.inputs.batches.batch((step - 1) * self.run.batch_seqs, self.run.batch_seqs)

    def take_step(self, step: int, state: TrainState, batch: Batch) -> TrainState:
        """Give a step to the device, and write the row of the one before while it runs."""
        began = time.monotonic()
        with self.clock.part("step"):
            state, report = self.programs.step(state, arrays_of(batch), self.rates)
        drawn = self.inputs.batches.domain_tokens(step * self.run.batch_seqs)
        self.journal.step(Dispatched(step, report, drawn, began))
        self.step = step
        return state

    def evaluate(self, step: int, state: TrainState) -> None:
        """Score the eval sets that are due after `step`, and hold a forecast against them."""
        due = [name for name, steps in _eval_steps(self.run) if step in steps]
        if not due:
            return
        self.journal.flush()
        began, values = time.monotonic(), dict[str, float]()
        with self.clock.part("eval"):
            row_nats = partial(self._row_nats, state)
            for name in due:
                values |= perplexity.score_metrics(name, perplexity.score(row_nats, self.packed[name]))
        self.scores |= values
        self.journal.scored(step, values, time.monotonic() - began)
        for fields in self.inputs.foretold(step, values) if self.inputs.foretold else ():
            self.inputs.record.event("forecast.score", step=step, **fields)

    def sample(self, step: int, state: TrainState) -> None:
        """Continue every prompt where samples are due after `step`."""
        samples = self.inputs.samples
        if samples is None or step not in self.run.sample_steps:
            return
        self.journal.flush()
        with self.clock.part("sample"):
            for prompt in samples.prompts:
                self.journal.sampled(step, prompt, self._continued(prompt, samples, state))

    def save(self, step: int, state: TrainState) -> None:
        """Save a checkpoint where one is due after `step`; a temporary one replaces the last."""
        keep = step in self.run.checkpoint_steps or step == self.run.num_steps
        if keep or time.monotonic() - self.saved_at >= self.inputs.settings.temporary_seconds:
            self._save(step, state, keep=keep)

    def show(self, step: int) -> None:
        """Tell the person at the terminal."""
        self.progress.step(step, self.journal.loss)

    def end(self, outcome: str, state: TrainState) -> TrainResult:
        """Write and save what is left, end the attempt and say what came out."""
        self.journal.flush()
        if self.saved_step != self.step:
            self._save(self.step, state, keep=False)
        self.inputs.record.finish(outcome, self.inputs.stop.reason if outcome == "interrupted" else None)
        self.progress.close()
        return _result(self.run, outcome, self._info(state, keep=True))

    def _say_incomplete(self) -> None:
        folder = self.inputs.checkpoints
        for path in checkpoint.list_checkpoints(folder).incomplete if folder else ():
            self.progress.say(f"{path} is incomplete, for saving it was cut short; it is not used")

    def _continued(self, prompt: str, samples: Samples, state: TrainState) -> str:
        ids = samples.tokenizer.encode(prompt)
        room = max(self.run.seq_tokens, len(ids) + samples.tokens)
        more = continue_prompt(state.model, state.router_bias_LE, ids, samples.tokens, buffer_tokens=room)
        return samples.tokenizer.decode(more)

    def _row_nats(self, state: TrainState, batch: Batch) -> tuple[Array, Array]:
        return self.programs.row_nats(state, arrays_of(batch))

    def _save(self, step: int, state: TrainState, *, keep: bool) -> None:
        folder = self.inputs.checkpoints
        if folder is None:
            return
        self.journal.flush()
        with self.clock.part("checkpoint"):
            ref = checkpoint.save(folder, state, self._info(state, keep=keep))
            checkpoint.remove_replaced(folder, ref)
        self.saved_step, self.saved_at = step, time.monotonic()
        self.journal.saved(ref, f"{folder.parent.name}/{folder.name}/{ref.path.name}")

    def _info(self, state: TrainState, *, keep: bool) -> CheckpointInfo:
        step, position, updates = (int(count) for count in (state.step, state.position, state.updates))
        assert (step, position) == (self.step, self.step * self.run.batch_seqs), (step, position, self.step)
        scores = {key: value if math.isfinite(value) else str(value) for key, value in self.scores.items()}
        progress = {"scores": scores, "seconds": dict(self.clock.seconds)}
        return CheckpointInfo(self.run.run, self.fingerprint, step, position, updates, keep, progress)


def fingerprint(run: RunPlan, data_fingerprint: str) -> str:
    """SHA-256 of what decides a run's numbers: its shape, optimizer, length, seed and data."""
    plan = asdict(replace(shape_of(run), seed=run.seed, optimizer=run.optimizer))
    return sha256(canonical({"plan": plan, "data": data_fingerprint}))


def find(run: RunPlan, checkpoints: Path | None, data_fingerprint: str) -> CheckpointRef | None:
    """The latest checkpoint of this run, or None.

    Raises:
        CheckpointError: it was made by another plan or from other data.
    """
    ref = checkpoint.latest(checkpoints) if checkpoints else None
    wanted = fingerprint(run, data_fingerprint)
    if ref is not None and ref.info.fingerprint != wanted:
        raise CheckpointError(
            f"{ref.path} was made by another plan or from other data (fingerprint {ref.info.fingerprint[:12]}, this "
            f"run has {wanted[:12]}): move {ref.path.parent} away to train {run.run} anew, or go back to what made it"
        )
    return ref


def result_of(run: RunPlan, ref: CheckpointRef) -> TrainResult:
    """The result of a run whose last step is saved."""
    assert ref.step == run.num_steps, (ref.step, run.num_steps)
    return _result(run, "finished", ref.info)


def _result(run: RunPlan, outcome: str, info: CheckpointInfo) -> TrainResult:
    scores = {key: float(value) for key, value in info.progress["scores"].items()}
    tokens = info.position * run.seq_tokens
    return TrainResult(run.run, outcome, info.step, info.updates, tokens, scores, info.progress["seconds"])


def _eval_steps(run: RunPlan) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return (("pulse", run.pulse_steps), ("full", run.full_steps))
