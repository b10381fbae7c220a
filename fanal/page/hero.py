"""The hero's curve, the forecast that was sealed before it and the smaller runs behind at equal progress.

Everything is over progress (share of the planned steps), so that runs of different length lie on one
axis. The scale of y is chosen here: it holds the forecast, the run after a tenth of its length and where
the smaller ones end, and lets the first fall of the loss leave at the top.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanal.page.band import Band, Difference, differences, forecast_band
from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress, subject
from fanal.page.runs import RunRow, loss_key
from fanal.page.seen import SeenRecord, SeenRun
from fanal.page.series import Envelope, Points, brief, envelope, points
from fanal.page.words import plain
from fanal.record.metrics import PULSE_MACRO, describe

Json = Any
SCALE_FROM = 0.1
MARGIN = 0.06
ABSURD = 1e6
TRAIN_BUCKETS = 120


@dataclass(frozen=True)
class Ghost:
    """A smaller run, drawn faint behind the hero."""

    run: str
    """Id in the record."""
    points: Points
    """Its values at equal progress."""


@dataclass(frozen=True)
class Stretch:
    """A phase of the mixture, on the run's axis."""

    label: str
    """`Data phase 1`, …"""
    first: float
    """Share of the run at which it begins."""
    last: float
    """Share of the run at which it ends."""


@dataclass(frozen=True)
class Moment:
    """A step at which something happened to the run."""

    progress: float
    """Share of the run."""
    step: int
    """Step."""
    words: str
    """What happened."""


@dataclass(frozen=True)
class HeroChart:
    """The run that the page is about."""

    run: str
    """Id in the record: `hero`, or the newest run while no hero has begun."""
    metric: str
    """What `evals` holds."""
    title: str
    """What is measured, for people."""
    unit: str
    """Of the values."""
    num_steps: int
    """Planned updates; outside a campaign the steps so far."""
    tokens: int | None
    """Planned tokens."""
    step: int
    """Updates attempted."""
    now: float | None
    """Newest finite eval."""
    evals: Points | None
    """Evals, drawn as points and a line."""
    train: Envelope | None
    """Training loss in buckets."""
    band: Band | None
    """The first forecast of this run; null where none is published."""
    ghosts: list[Ghost]
    """Smaller runs, smallest first, seed 0 only."""
    differences: list[Difference]
    """Evals against the forecast's median."""
    phases: list[Stretch]
    """Phases of the mixture."""
    skips: list[Moment]
    """Steps whose update was skipped."""
    restarts: list[Moment]
    """Where a later attempt went on."""
    low: float
    """Least value of the y axis."""
    high: float
    """Most; what lies above leaves at the top."""


def hero_chart(record: SeenRecord, view: CampaignView, progress: Progress) -> HeroChart | None:
    """The chart of the hero, of the run that trains while there is none, or None where nothing has rows."""
    row = subject(progress)
    run = record.runs.get(row.run) if row else None
    if row is None or run is None:
        return None
    num_steps = row.num_steps or max(1, row.step)
    dense = loss_key(run)
    metric = PULSE_MACRO if view.runs or PULSE_MACRO in run.keys else dense or PULSE_MACRO
    evals = run_points(run, PULSE_MACRO, num_steps)
    train = run.series(dense) if dense else None
    band = forecast_band(run, metric)
    meaning = describe(metric)
    chart = HeroChart(
        run=row.run,
        metric=plain(metric),
        title=_title(record, metric),
        unit=meaning.unit if meaning else "",
        num_steps=num_steps,
        tokens=row.tokens,
        step=row.step,
        now=next((v for v in reversed(evals.value) if v is not None), None) if evals else None,
        evals=evals,
        train=envelope(train, num_steps, TRAIN_BUCKETS) if train is not None else None,
        band=band,
        ghosts=smaller_runs(record, progress, row, metric),
        differences=differences(evals, band),
        phases=_stretches(view),
        skips=_moments(run, "skip", num_steps),
        restarts=_moments(run, "attempt.start", num_steps),
        low=0.0,
        high=1.0,
    )
    low, high = _scale(chart)
    return replace(chart, low=low, high=high)


def run_points(run: SeenRun, metric: str, num_steps: int) -> Points | None:
    """The values of `metric` over one run, or None where it was never logged."""
    series = run.series(metric)
    return points(series, num_steps) if series is not None else None


def smaller_runs(record: SeenRecord, progress: Progress, row: RunRow, metric: str) -> list[Ghost]:
    """`metric` of the rungs before `row`, their first seed only, smallest first."""
    before = [r for r in progress.runs if r.role == "rung" and r.run == r.size and r.size != row.size]
    found = [(r.run, run_points(record.runs[r.run], metric, r.num_steps or 1)) for r in before if r.run in record.runs]
    return [Ghost(name, line) for name, line in found if line is not None]


def _title(record: SeenRecord, metric: str) -> str:
    if metric != PULSE_MACRO:
        return plain(metric)
    corpus = record.campaign_events("corpus")
    count = len(corpus[-1].fields["domains"]) if corpus else 0
    return f"pulse set, mean of {count} held-out domains" if count else "pulse set, mean of the held-out domains"


def _stretches(view: CampaignView) -> list[Stretch]:
    ends = [float(p["until"]) for p in view.part("mixture", "phase") or ()]
    starts = [0.0, *ends]
    return [Stretch(f"Data phase {i + 1}", a, b) for i, (a, b) in enumerate(zip(starts, ends, strict=False))]


def _moments(run: SeenRun, kind: str, num_steps: int) -> list[Moment]:
    found: list[Moment] = []
    for event in run.events(kind):
        fields = event.fields
        begins = kind == "attempt.start"
        step = fields.get("from_step") if begins else event.step
        if step is None or (begins and fields["cause"] == "start"):
            continue
        words = f"attempt {event.attempt}: {fields['cause']}" if begins else f"update skipped: {fields['reason']}"
        found.append(Moment(float(f"{step / num_steps:.6g}"), int(step), plain(words.replace("_", " "))))
    return found


def _settled(progress: list[float], values: list[float | None]) -> list[float]:
    return [v for p, v in zip(progress, values, strict=True) if v is not None and p >= SCALE_FROM]


def y_scale(front: list[Points], behind: list[Points], more: list[float]) -> tuple[float, float]:
    """A y axis that holds the lines in front after their first tenth, the ends of those behind, and `more`."""
    values = [v for line in front for v in _settled(line.progress, line.value)]
    values += [v for line in behind for v in [v for v in line.value if v is not None][-1:]]
    values += more
    if not values:
        values = [v for line in [*front, *behind] for v in line.value if v is not None] or [0.0, 1.0]
    low, high = min(values), max(values)
    if high - low > ABSURD * max(1.0, abs(float(np.median(values)))):
        low, high = (float(q) for q in np.quantile(values, (0.02, 0.98)))
    room = MARGIN * (high - low) or 0.5
    return brief(low - room) or 0.0, brief(high + room) or 1.0


def _scale(chart: HeroChart) -> tuple[float, float]:
    more: list[float] = []
    if chart.band:
        more = [v for side in (chart.band.p10, chart.band.p90) for v in _settled(chart.band.progress, [*side])]
    front = [chart.evals] if chart.evals else []
    if not front and chart.train:
        sides = (chart.train.low, chart.train.high)
        more += [v for side in sides for v in _settled(chart.train.progress, side)]
        more = more or [v for side in sides for v in side if v is not None]
    return y_scale(front, [g.points for g in chart.ghosts], more)
