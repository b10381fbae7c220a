"""The ladder: what each size cost and reached, the line through the sizes and what it foretells of the hero.

Points are the losses at the end of the rungs on the metric the forecast is quoted on (before there is
one, the full eval set), averaged over a rung's seeds; path, interval and line are the sealed
document's own and are never fitted again here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanal.page.band import Quantiles
from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress
from fanal.page.runs import Phase, RunRow
from fanal.page.seen import SeenRecord
from fanal.page.series import brief, last_finite
from fanal.page.words import plain
from fanal.record.metrics import FULL_MACRO

Json = Any


@dataclass(frozen=True)
class LadderPoint:
    """One size of the ladder, finished."""

    size: str
    """The rung."""
    flops: float
    """Planned FLOPs, head not counted."""
    loss: float
    """Mean over the seeds, nats per token."""
    seeds: list[float]
    """Each seed's loss."""


@dataclass(frozen=True)
class ForecastPath:
    """The sealed forecast along compute, from the smallest rung to the hero."""

    flops: list[float]
    """Where it is given, ascending; the last is the hero's."""
    p10: list[float]
    """Lower border of the 80 % interval."""
    p50: list[float]
    """Median."""
    p90: list[float]
    """Upper border."""


@dataclass(frozen=True)
class OtherLine:
    """The same prediction under another choice."""

    name: str
    """Which choice."""
    value: float
    """What it foretells of the hero's end."""


@dataclass(frozen=True)
class LadderChart:
    """Loss against cost."""

    metric: str
    """What `loss` is."""
    unit: str
    """Of the losses."""
    points: list[LadderPoint]
    """Sizes whose seeds are all finished, smallest first."""
    planned: int
    """Sizes in the plan."""
    hero_flops: float | None
    """Planned FLOPs of the hero, head not counted."""
    asymptote: float
    """What the loss is drawn above on the logarithmic axis: the forecast's median asymptote, or 0."""
    path: ForecastPath | None
    """The forecast along compute."""
    forecast: Quantiles | None
    """The hero's loss at its end, as sealed."""
    measured: float | None
    """The hero's loss at its end, once it is there."""
    others: list[OtherLine]
    """The same prediction under other choices."""


def ladder_chart(record: SeenRecord, view: CampaignView, progress: Progress) -> LadderChart | None:
    """The ladder so far, or None where no rung is planned."""
    rungs = [r for r in progress.runs if r.role == "rung"]
    if not rungs:
        return None
    hero = next((r for r in progress.runs if r.role == "hero"), None)
    document = _document(record, hero)
    metric = str(document.get("headline") or (view.part("forecast", "metrics") or [FULL_MACRO])[-1])
    foretold: Mapping[str, Json] = document.get("metrics", {}).get(metric, {})
    sizes = dict.fromkeys(r.size for r in rungs)
    points = [p for size in sizes if (p := _point(record, metric, [r for r in rungs if r.size == size]))]
    points.sort(key=lambda p: p.flops)
    asymptote = float(foretold.get("asymptote", {}).get("p50", 0.0))
    lowest = min(
        [p.loss for p in points] + [float(foretold["p10"][-1])] if foretold else [p.loss for p in points], default=1.0
    )
    return LadderChart(
        metric=plain(metric),
        unit="bits per byte" if "_bpb/" in metric else "nats per token",
        points=points,
        planned=len(sizes),
        hero_flops=hero.flops if hero else None,
        asymptote=asymptote if asymptote < lowest else 0.0,
        path=_path(foretold.get("path")),
        forecast=Quantiles(*(float(foretold[q][-1]) for q in ("p10", "p50", "p90"))) if foretold else None,
        measured=_end(record, hero, metric) if hero else None,
        others=_others(document, foretold),
    )


def _point(record: SeenRecord, metric: str, runs: list[RunRow]) -> LadderPoint | None:
    losses = [_end(record, r, metric) for r in runs]
    known = [loss for loss in losses if loss is not None]
    if len(known) < len(losses) or not runs[0].flops:
        return None
    return LadderPoint(runs[0].size, runs[0].flops, sum(known) / len(known), known)


def _end(record: SeenRecord, row: RunRow, metric: str) -> float | None:
    """The last value of a finished run."""
    run = record.runs.get(row.run)
    return last_finite(run.series(metric)) if run and row.phase is Phase.FINISHED else None


def _document(record: SeenRecord, hero: RunRow | None) -> Mapping[str, Json]:
    run = record.runs.get(hero.run) if hero else None
    events = run.events("forecast") if run else []
    return events[0].fields["document"] if events else {}


def _path(path: Mapping[str, Sequence[float]] | None) -> ForecastPath | None:
    if not path:
        return None
    return ForecastPath(*([brief(v) or 0.0 for v in path[name]] for name in ("flops", "p10", "p50", "p90")))


def _others(document: Mapping[str, Json], foretold: Mapping[str, Json]) -> list[OtherLine]:
    """The lines of the document at the hero's end, then what its sensitivity says."""
    lines = [(f"line, {name}", values[-1]) for name, values in foretold.get("lines", {}).items()]
    choices = [(str(c.get("choice", c.get("name", ""))), c.get("p50")) for c in document.get("sensitivity", ())]
    return [OtherLine(plain(name), float(value)) for name, value in [*lines, *choices] if value is not None]
