"""What a training tells the record: rows of steps, evals, samples, skips, checkpoints.

Guarantees that the row of step s (updates attempted, counted from 1) is written once and before anything else
of that step; it is written while the device is at the next step, so that it costs the device nothing. Row 0
holds what was measured before the first step. It keeps the last scores, for the result and the next checkpoint.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from fanal.campaign.derived import RunPlan
from fanal.record import metrics
from fanal.train.checkpoint import CheckpointRef
from fanal.train.clock import Clock
from fanal.train.report import report_metrics, skip_reason
from fanal.train.step import StepReport


class Recorder(Protocol):
    """The part of `fanal.record.attempt.Run` that a training writes through."""

    def log(self, metrics: Mapping[str, float | int], step: int | None = None) -> None: ...

    def event(self, kind: str, step: int | None = None, **fields: Any) -> None: ...

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None: ...


class Unrecorded:
    """A recorder that keeps nothing, for runs whose result alone is wanted."""

    def log(self, metrics: Mapping[str, float | int], step: int | None = None) -> None:
        """Forget the row."""

    def event(self, kind: str, step: int | None = None, **fields: Any) -> None:
        """Forget the event."""

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Dispatched:
    """A step that was given to the device and may still be running."""

    step: int
    report: StepReport
    domain_tokens: Mapping[str, int]
    """Tokens drawn so far by domain, this step's batch included."""
    began: float
    """When it was given to the device, on the monotonic clock."""


class Journal:
    """Writes one training's rows and events."""

    def __init__(self, run: RunPlan, record: Recorder, clock: Clock, norms_every_steps: int) -> None:
        self._run, self._record, self._clock = run, record, clock
        self._norms_every_steps = norms_every_steps
        self._waiting: Dispatched | None = None
        self._ended = 0.0
        self.loss = float("nan")
        """Loss of the last row."""

    def step(self, dispatched: Dispatched) -> None:
        """Write the row of the step before this one, while the device is at this one."""
        self.flush()
        self._waiting = dispatched

    def flush(self) -> None:
        """Wait for the step that was dispatched last and write its row."""
        if self._waiting is None:
            return
        done, self._waiting = self._waiting, None
        with self._clock.part("step"):
            report: StepReport = jax.device_get(done.report)
        seconds = time.monotonic() - max(done.began, self._ended)
        self._ended = time.monotonic()
        self._write(done, report, seconds)

    def scored(self, step: int, values: Mapping[str, float], seconds: float) -> None:
        """Write the scores of the eval sets that were due beside the row of `step`."""
        self._record.log({**values, metrics.EVAL_SECONDS: seconds}, step=step)

    def sampled(self, step: int, prompt: str, text: str) -> None:
        """The model continued a prompt, greedily."""
        self._record.event("sample", step=step, prompt=prompt, text=text, temperature=0.0)

    def saved(self, ref: CheckpointRef, path: str) -> None:
        """A checkpoint is complete."""
        info = ref.info
        self._record.event(
            "checkpoint",
            step=info.step,
            path=path,
            sha256=ref.sha256,
            bytes=ref.num_bytes,
            keep=info.keep,
            position=info.position,
            updates=info.updates,
        )

    def _write(self, done: Dispatched, report: StepReport, seconds: float) -> None:
        with self._clock.part("report"):
            values = report_metrics(report, self._run, with_norms=done.step % self._norms_every_steps == 0)
            values[metrics.TRAIN_STEP_SECONDS] = seconds
            values[metrics.TRAIN_TOKENS_PER_SECOND] = self._run.batch_tokens / seconds
            values |= {metrics.data_tokens(domain): tokens for domain, tokens in done.domain_tokens.items()}
        with self._clock.part("log"):
            self._record.log(values, step=done.step)
        self.loss = values[metrics.TRAIN_LOSS]
        if (reason := skip_reason(report)) is not None:
            limit = float(report.loss_limit)
            self._record.event("skip", step=done.step, reason=reason, loss=self.loss, limit=limit)
