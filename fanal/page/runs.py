"""Each training of a record: what is planned, how far it is, its newest loss, its time and its own pace.

Read from attempt events and logged steps. An estimate comes from the run's own pace in its newest
attempt, evals and checkpoints included; time between attempts is not counted as the run's.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fanal.page.plan_view import CampaignView, PlannedRun
from fanal.page.seen import SeenRecord, SeenRun
from fanal.page.series import brief, last_finite
from fanal.page.words import plain
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO, TRAIN_LOSS, TRAIN_SKIPPED
from fanal.record.reading.read import Series

PACE_ROWS = 50


class Phase(StrEnum):
    """Where something stands."""

    PLANNED = "planned"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class RunRow:
    """One training: what is planned and how far it is."""

    run: str
    """Id in the record."""
    size: str
    """The rung it belongs to, without its seed; `hero` for the hero."""
    role: str
    """`rung`, `hero` or `run`."""
    seed: int
    """Seed of parameters and data order."""
    phase: Phase
    """Planned, running, finished, interrupted or failed."""
    step: int
    """Updates attempted."""
    num_steps: int | None
    """Planned updates; null outside a campaign."""
    frac: float | None
    """Share of the run that is done."""
    tokens: int | None
    """Planned tokens."""
    params_active: int | None
    """Matrices one token uses, embedding and head not counted."""
    params_total: int | None
    """Every trained leaf."""
    flops: float | None
    """Planned FLOPs, head not counted."""
    loss: float | None
    """Newest finite value of `loss_metric`, nats per token."""
    loss_metric: str | None
    """What `loss` is: the full set where it was scored, else the pulse, else a training loss."""
    attempts: int
    """Starts and resumes."""
    skipped: int
    """Steps whose update the guard skipped."""
    seconds: float
    """Wall time between first and last row, stops left out."""
    seconds_left: float | None
    """At this run's own pace; null where it has none or does not run."""
    pace_seconds: float | None
    """Median time between its newest rows."""
    last_ns: int | None
    """Time of its newest row, ns since 1970, UTC."""


@dataclass(frozen=True)
class _Rows:
    """The time axis of a run."""

    step: int = 0
    seconds: float = 0.0
    step_seconds: float | None = None
    pace_seconds: float | None = None
    last_ns: int | None = None


def run_rows(record: SeenRecord, view: CampaignView) -> list[RunRow]:
    """Planned and begun trainings, in the plan's order, then those that no plan names."""
    names = dict.fromkeys([*(run.run for run in view.runs), *record.runs])
    return [_row(name, record.runs.get(name), view.run(name)) for name in names]


def _row(name: str, run: SeenRun | None, planned: PlannedRun | None) -> RunRow:
    metric, loss = _loss(run)
    phase = _phase(run)
    rows = _rows(run)
    num_steps = planned.num_steps if planned else None
    skipped = run.series(TRAIN_SKIPPED) if run else None
    running = phase is Phase.RUNNING and num_steps is not None and rows.step_seconds is not None
    left = (rows.step_seconds or 0.0) * ((num_steps or 0) - rows.step) if running else None
    return RunRow(
        run=plain(name),
        size=planned.size if planned else plain(name),
        role=planned.role if planned else run.role if run else "run",
        seed=planned.seed if planned else 0,
        phase=phase,
        step=rows.step,
        num_steps=num_steps,
        frac=min(1.0, rows.step / num_steps) if num_steps else None,
        tokens=planned.tokens if planned else None,
        params_active=planned.params_active if planned else None,
        params_total=planned.params_total if planned else None,
        flops=planned.flops if planned else None,
        loss=brief(loss),
        loss_metric=metric,
        attempts=len(run.events("attempt.start")) if run else 0,
        skipped=int(np.nansum(skipped.values)) if skipped is not None else 0,
        seconds=rows.seconds,
        seconds_left=left,
        pace_seconds=rows.pace_seconds,
        last_ns=rows.last_ns,
    )


def loss_key(run: SeenRun) -> str | None:
    """The dense series that stands for a run's loss: the trainer's, else the first named so, else the first."""
    named = (key for key in run.keys if "loss" in key.lower() and not key.startswith("eval/"))
    return TRAIN_LOSS if TRAIN_LOSS in run.keys else next(named, run.keys[0] if run.keys else None)


def _loss(run: SeenRun | None) -> tuple[str | None, float | None]:
    for metric in (FULL_MACRO, PULSE_MACRO, loss_key(run)) if run else ():
        value = last_finite(run.series(metric)) if run and metric else None
        if value is not None:
            return metric, value
    return None, None


def _phase(run: SeenRun | None) -> Phase:
    starts = run.events("attempt.start") if run else []
    if run is None or not starts:
        return Phase.PLANNED
    newest = starts[-1].attempt
    return next((Phase(e.fields["outcome"]) for e in run.events("attempt.end") if e.attempt == newest), Phase.RUNNING)


def _rows(run: SeenRun | None) -> _Rows:
    key = loss_key(run) if run else None
    rows = run.series(key) if run and key else None
    if rows is None:
        return _Rows()
    times = np.sort(rows.times_ns)
    newest = rows.attempts == rows.attempts.max()
    here = _span_seconds(rows, newest)
    steps_here = int(rows.steps[newest].max() - rows.steps[newest].min())
    return _Rows(
        step=int(rows.steps.max()),
        seconds=sum(_span_seconds(rows, rows.attempts == a) for a in np.unique(rows.attempts)),
        step_seconds=here / steps_here if steps_here else None,
        pace_seconds=float(np.median(np.diff(times[-PACE_ROWS:]))) / 1e9 if len(times) > 1 else None,
        last_ns=int(times[-1]),
    )


def _span_seconds(rows: Series, chosen: np.ndarray) -> float:
    times = rows.times_ns[chosen]
    return float(times.max() - times.min()) / 1e9
