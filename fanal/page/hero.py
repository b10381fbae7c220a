"""The hero's curve with the forecast that was sealed before it, and the smaller runs behind at equal progress.

Everything is over progress (share of the planned steps), so that runs of different length lie on one
axis. The scale of y is chosen here: it holds the forecast and what the runs did after a tenth of their
length, and lets the first fall of the loss leave at the top. The forecast's document is read as it was
sealed and never fitted again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress, subject
from fanal.page.runs import RunRow, loss_key
from fanal.page.seen import SeenRecord, SeenRun
from fanal.page.series import Envelope, Points, brief, envelope, points
from fanal.page.words import plain
from fanal.record.events import Event
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO, describe

Json = Any
SCALE_FROM = 0.1
MARGIN = 0.06


@dataclass(frozen=True)
class Quantiles:
    """One prediction: its median and its 80 % interval."""

    p10: float
    p50: float
    p90: float


@dataclass(frozen=True)
class Band:
    """A forecast over the whole run."""

    sha256: str
    """Of the sealed document."""
    sealed_ns: int
    """When it entered the record."""
    before_step_0: bool
    """Whether it entered the run's record before the run's first row."""
    progress: list[float]
    """Share of the run."""
    p10: list[float]
    """One in ten should end below this."""
    p50: list[float]
    """Median."""
    p90: list[float]
    """One in ten should end above this."""
    end: Quantiles
    """Of the same metric at the end of the run."""
    end_full: Quantiles | None
    """Of the full eval set at the end of the run; null where it was not foretold."""


@dataclass(frozen=True)
class Ghost:
    """A smaller run, drawn faint behind the hero."""

    run: str
    """Id in the record."""
    points: Points
    """Its values at equal progress."""


@dataclass(frozen=True)
class Difference:
    """One eval held against the forecast."""

    progress: float
    """Share of the run."""
    measured: float
    """The eval."""
    difference: float
    """Measured − median."""
    inside: bool
    """Inside the 80 % interval."""


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
        train=envelope(train, num_steps) if train is not None else None,
        band=band,
        ghosts=smaller_runs(record, progress, row, metric),
        differences=_differences(evals, band),
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


def forecast_band(run: SeenRun, metric: str) -> Band | None:
    """The first forecast of `run` that covers `metric`."""
    for event in run.events("forecast"):
        metrics: Mapping[str, Json] = event.fields["document"].get("metrics", {})
        if metric in metrics:
            foretold = metrics[metric]
            full = metrics.get(FULL_MACRO)
            return Band(
                sha256=event.fields["sha256"],
                sealed_ns=event.time_ns,
                before_step_0=_before_rows(run, event),
                progress=[float(p) for p in foretold["progress"]],
                p10=[float(v) for v in foretold["p10"]],
                p50=[float(v) for v in foretold["p50"]],
                p90=[float(v) for v in foretold["p90"]],
                end=_end(foretold),
                end_full=_end(full) if full else None,
            )
    return None


def _end(foretold: Mapping[str, Json]) -> Quantiles:
    return Quantiles(float(foretold["p10"][-1]), float(foretold["p50"][-1]), float(foretold["p90"][-1]))


def _before_rows(run: SeenRun, event: Event) -> bool:
    """By sequence numbers: the forecast stands in the run's first attempt, before its first row."""
    key = loss_key(run)
    rows = run.series(key) if key else None
    if rows is None:
        return True
    first = min(zip(rows.attempts.tolist(), rows.sequences.tolist(), strict=True))
    return (event.attempt, event.sequence) < first


def _title(record: SeenRecord, metric: str) -> str:
    if metric != PULSE_MACRO:
        return plain(metric)
    corpus = record.campaign_events("corpus")
    count = len(corpus[-1].fields["domains"]) if corpus else 0
    return f"mean of {count} held-out domains" if count else "mean of the held-out domains"


def _differences(evals: Points | None, band: Band | None) -> list[Difference]:
    if evals is None or band is None:
        return []
    found: list[Difference] = []
    for at, value in zip(evals.progress, evals.value, strict=True):
        if value is None or at < band.progress[0]:
            continue
        p10, p50, p90 = (float(np.interp(at, band.progress, q)) for q in (band.p10, band.p50, band.p90))
        found.append(Difference(at, value, float(f"{value - p50:.4g}"), p10 <= value <= p90))
    return found


def _stretches(view: CampaignView) -> list[Stretch]:
    ends = [float(p["until"]) for p in view.part("mixture", "phase") or ()]
    starts = [0.0, *ends]
    return [Stretch(f"Data phase {i + 1}", a, b) for i, (a, b) in enumerate(zip(starts, ends, strict=False))]


def _moments(run: SeenRun, kind: str, num_steps: int) -> list[Moment]:
    found: list[Moment] = []
    for event in run.events(kind):
        step = event.fields.get("from_step") if kind == "attempt.start" else event.step
        if step is None or (kind == "attempt.start" and event.fields["cause"] == "start"):
            continue
        words = (
            f"attempt {event.attempt}: {event.fields['cause']}"
            if kind == "attempt.start"
            else f"update skipped: {event.fields['reason']}"
        )
        found.append(Moment(float(f"{step / num_steps:.6g}"), int(step), plain(words.replace("_", " "))))
    return found


def _scale(chart: HeroChart) -> tuple[float, float]:
    """The y axis: everything after the first tenth of each line, with a margin; never empty."""
    values: list[float] = []
    for line in [*(g.points for g in chart.ghosts), *([chart.evals] if chart.evals else [])]:
        values += [v for p, v in zip(line.progress, line.value, strict=True) if v is not None and p >= SCALE_FROM]
    if chart.band:
        held = [p >= SCALE_FROM for p in chart.band.progress]
        values += [v for q in (chart.band.p10, chart.band.p90) for v, keep in zip(q, held, strict=True) if keep]
    if not values and chart.evals:
        values = [v for v in chart.evals.value if v is not None]
    if not values and chart.train:
        values = [v for side in (chart.train.low, chart.train.high) for v in side if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low > 1e6 * max(1.0, abs(float(np.median(values or [0.0])))):
        low, high = (float(q) for q in np.quantile(values, (0.02, 0.98)))
    room = MARGIN * (high - low) or 0.5
    return brief(low - room) or 0.0, brief(high + room) or 1.0
