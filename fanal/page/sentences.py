"""The page's words: one generated sentence first, then the state line and the list of what to look at.

What, how far, against what was foretold, when it ends; figures before adjectives, no praise and no blame.
Every sentence is made from parts of the state that are shown below it. What the record does not say is
called not stated or not published.
"""

import math
from dataclasses import dataclass

import numpy as np

from fanal.page.hero import HeroChart
from fanal.page.ladder import LadderChart
from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress
from fanal.page.router import RouterChart
from fanal.page.runs import Phase, RunRow
from fanal.page.series import Envelope
from fanal.page.words import about, clock, counted, duration, figure, percent, plain, short, signed, spelled

STILL = 0.0005
"""Closer than this share to the forecast is `on` it."""
SILENT_AT_LEAST_SECONDS = 60.0
SILENT_PACES = 20.0


@dataclass(frozen=True)
class Headline:
    """The first sentence of the page."""

    lead: str
    """The first clause, set in bold."""
    rest: str
    """What follows it."""
    silent_lead: str
    """The first clause once nothing has come for `silent_after_seconds`."""
    silent_rest: str
    """What follows it then."""
    silent_after_seconds: float | None
    """Silence after which the run may have stopped without a word; null where it has ended."""


@dataclass(frozen=True)
class StatusLine:
    """The line above the headline."""

    word: str
    """`Training`, `Reading`, `Finished`, …"""
    facts: list[str]
    """Short facts after it."""


@dataclass(frozen=True)
class HealthRow:
    """One thing to look at."""

    mark: str
    """`steady`, `look` or `absent`: dot, triangle or dash."""
    name: str
    """What."""
    words: str
    """How it is."""


def headline(view: CampaignView, progress: Progress, hero: HeroChart | None, ladder: LadderChart | None) -> Headline:
    """The sentence for where the campaign stands."""
    lead, rest = _said(view, progress, hero, ladder)
    live = progress.phase is Phase.RUNNING
    pace = progress.pace_seconds
    limit = max(SILENT_AT_LEAST_SECONDS, SILENT_PACES * (pace or 0.0)) if live else None
    last = clock(progress.last_ns) if progress.last_ns else "an unknown time"
    every = f"; a row was due every {duration(pace)}" if pace and pace >= 1 else ""
    before = f"{lead} {rest}".strip()
    return Headline(
        lead=lead,
        rest=rest,
        silent_lead="Silent.",
        silent_rest=f"Nothing was recorded since {last}{every}; stopped or waiting, cause not stated. Last known: {before}",
        silent_after_seconds=limit,
    )


def _said(
    view: CampaignView, progress: Progress, hero: HeroChart | None, ladder: LadderChart | None
) -> tuple[str, str]:
    row = next((r for r in progress.runs if hero is not None and r.run == hero.run), None)
    match progress.phase:
        case Phase.PLANNED:
            return "Waiting for the first row.", "The record is not there yet, or empty."
        case Phase.FINISHED if ladder is not None and ladder.measured is not None:
            return _verdict(ladder)
        case Phase.FINISHED:
            return "Finished.", _loss_clause(hero, row)
        case Phase.INTERRUPTED | Phase.FAILED:
            where = f"{_name(row)} at {percent(row.frac or 0.0)}" if row else "before the first run"
            reason = progress.reason or "cause not stated"
            return (
                f"{progress.phase.value.capitalize()}: {where}.",
                f"{_sentence(reason)} The same command goes on from here.",
            )
        case Phase.RUNNING if progress.current_run is not None and row is not None:
            return _training(progress, hero, row)
        case _:
            return _reading(view, progress)


def _training(progress: Progress, hero: HeroChart | None, row: RunRow) -> tuple[str, str]:
    running = next(r for r in progress.runs if r.run == progress.current_run)
    shown = hero if hero and hero.run == running.run else None
    done = f"{percent(running.frac)} done" if running.frac is not None else f"at step {figure(running.step, 0)}"
    left = running.seconds_left if running.role == "hero" or running.num_steps is None else progress.seconds_left
    end = "ends in" if running.role == "hero" else "the campaign ends in"
    clauses = [_loss_clause(shown, running), f"{end} {about(left)}" if left is not None else ""]
    rest = "; ".join(clause for clause in clauses if clause)
    return f"{_name(running)} {done};" if rest else f"{_name(running)} {done}.", f"{rest}." if rest else ""


def _name(row: RunRow | None) -> str:
    if row is None:
        return "Run"
    ordinal = {1: "second", 2: "third", 3: "fourth"}
    if row.role == "rung" and row.run != row.size:
        index = row.run.rpartition("-s")[2]
        seed = f"{ordinal[int(index)]} seed" if index.isdigit() and int(index) in ordinal else f"seed {index}"
        return f"Rung {row.size}, {seed},"
    return {"rung": f"Rung {row.run}", "hero": "Hero"}.get(row.role, f"Run {row.run}")


def _loss_clause(hero: HeroChart | None, row: RunRow | None) -> str:
    now = hero.now if hero and hero.now is not None else row.loss if row else None
    if now is None:
        return ""
    said = f"loss {figure(now, 2)}"
    newest = hero.differences[-1] if hero and hero.differences else None
    if newest is None:
        return said
    foretold = newest.measured - newest.difference
    return f"{said}, {_against(newest.difference / foretold)}, {_band_words(newest.difference, newest.inside)}"


def _against(frac: float) -> str:
    if abs(frac) < STILL:
        return "on the forecast"
    return f"{percent(abs(frac), 1)} {'above' if frac > 0 else 'below'} the forecast"


def _band_words(difference: float, inside: bool) -> str:
    where = "inside" if inside else "above" if difference > 0 else "below"
    return f"{where} its {percent(0.8)} band"


def _verdict(ladder: LadderChart) -> tuple[str, str]:
    assert ladder.measured is not None
    lead = f"Hero finished at {figure(ladder.measured, 3)};"
    if ladder.forecast is None:
        return lead, "no forecast is published."
    p10, p50, p90 = ladder.forecast.p10, ladder.forecast.p50, ladder.forecast.p90
    inside = p10 <= ladder.measured <= p90
    against = _against((ladder.measured - p50) / p50)
    place = _band_words(ladder.measured - p50, inside)
    span = f"{figure(p10, 3)} to {figure(p90, 3)}"
    return lead, f"{against}, {place} of {span}. An honest {percent(0.8)} band misses one time in five."


def _reading(view: CampaignView, progress: Progress) -> tuple[str, str]:
    stage = progress.current_stage
    trained = [r for r in progress.runs if r.role == "rung" and r.phase is Phase.FINISHED]
    if stage is None:
        return (
            ("Between two stages.", f"{counted(len(trained), 'rung')} trained.")
            if trained
            else ("Beginning.", "No stage has begun.")
        )
    group, _, name = stage.partition("/")
    words = name.replace("_", " ")
    if group == "data":
        count = len(view.part("corpus", "source") or ())
        domains = f"{spelled(count)} domain{'s' if count != 1 else ''}" if count else "the corpus"
        return f"Reading {domains}:", f"{words}."
    if group == "train":
        return f"Preparing {words}:", "its step is compiled before the first row."
    done = f"{spelled(len({r.size for r in trained}))} rungs trained".capitalize() if trained else "Campaign begun"
    return f"{done};", f"{stage.replace('/', ': ').replace('_', ' ')} runs now."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def status_line(progress: Progress, hero: HeroChart | None) -> StatusLine:
    """State in one word, with the step and the campaign's age."""
    word = {
        Phase.PLANNED: "Waiting",
        Phase.FINISHED: "Finished",
        Phase.INTERRUPTED: "Interrupted",
        Phase.FAILED: "Failed",
        Phase.RUNNING: "Training" if progress.current_run else "Preparing",
    }[progress.phase]
    if progress.phase is Phase.RUNNING and (progress.current_stage or "").startswith("data/"):
        word = "Reading"
    facts: list[str] = []
    if hero is not None and progress.current_run == hero.run:
        facts.append(f"step {figure(hero.step, 0)} of {figure(hero.num_steps, 0)}")
    if progress.started_ns and progress.last_ns:
        facts.append(f"{duration((progress.last_ns - progress.started_ns) / 1e9)} since the start")
    return StatusLine(word, facts)


def health(progress: Progress, hero: HeroChart | None, router: RouterChart | None, num_samples: int) -> list[HealthRow]:
    """What a follower looks at first; an absent series is named as not published."""
    row = next((r for r in progress.runs if hero is not None and r.run == hero.run), None)
    rows = [
        _loss_health(hero),
        _forecast_health(hero),
        _speed_health(row, progress),
        _skip_health(row),
        _finite_health(hero),
    ]
    rows += [_router_health(router), _dropped_health(router)]
    restarts = sum(max(0, r.attempts - 1) for r in progress.runs)
    rows.append(
        HealthRow("look" if restarts else "steady", "Restarts", counted(restarts, "restart") if restarts else "none")
    )
    rows.append(
        HealthRow("steady", "Samples", counted(num_samples, "continuation")) if num_samples else _absent("Samples")
    )
    return rows


def _absent(name: str) -> HealthRow:
    return HealthRow("absent", name, "not published by this run")


def _loss_health(hero: HeroChart | None) -> HealthRow:
    values = [v for v in hero.evals.value if v is not None] if hero and hero.evals else []
    if hero is None or hero.evals is None or len(values) < 2:
        return _absent("Loss")
    steps = hero.evals.step[-1] - hero.evals.step[-2]
    change = values[-1] - values[-2]
    rising = change > 0
    return HealthRow(
        "look" if rising else "steady",
        "Loss",
        f"{'rising' if rising else 'falling'}, {signed(change, 3)} in {figure(steps, 0)} steps",
    )


def _forecast_health(hero: HeroChart | None) -> HealthRow:
    if hero is None or hero.band is None:
        return _absent("Forecast")
    inside = sum(d.inside for d in hero.differences)
    total = len(hero.differences)
    return HealthRow(
        "steady" if inside == total else "look", "Forecast", f"inside at {inside} of {counted(total, 'eval')}"
    )


def _speed_health(row: RunRow | None, progress: Progress) -> HealthRow:
    if row is None or not row.seconds or not row.tokens or not row.num_steps:
        return _absent("Speed")
    speed = row.tokens / row.num_steps * row.step / row.seconds
    return HealthRow("steady", "Speed", f"{short(speed)} tokens a second, evals and checkpoints included")


def _skip_health(row: RunRow | None) -> HealthRow:
    if row is None:
        return _absent("Updates")
    return HealthRow(
        "look" if row.skipped else "steady",
        "Updates",
        f"{counted(row.skipped, 'update')} skipped" if row.skipped else "none skipped",
    )


def _finite_health(hero: HeroChart | None) -> HealthRow:
    if hero is None or (hero.train is None and hero.evals is None):
        return _absent("Values")
    bad = sum(m.count for part in (hero.train, hero.evals) if part for m in part.marks)
    return HealthRow("look" if bad else "steady", "Values", f"{figure(bad, 0)} not finite" if bad else "all finite")


def _newest(line: Envelope | None) -> float | None:
    return next((v for v in reversed(line.mean) if v is not None), None) if line else None


def _router_health(router: RouterChart | None) -> HealthRow:
    found = [
        (layer, value) for layer in (router.layers if router else []) if (value := _newest(layer.entropy)) is not None
    ]
    if not found:
        return _absent("Router")
    even = min(math.exp(value) / layer.num_experts for layer, value in found)
    return HealthRow(
        "steady" if even > 0.8 else "look", "Router", f"load as even as over {percent(even)} of the experts"
    )


def _dropped_health(router: RouterChart | None) -> HealthRow:
    values = [v for layer in (router.layers if router else []) if (v := _newest(layer.dropped)) is not None]
    if not values:
        return _absent("Dropped")
    worst = float(np.max(values))
    return HealthRow(
        "steady" if worst < 0.02 else "look", "Dropped", f"{percent(worst, 2)} of assignments found no slot"
    )


def run_title(view: CampaignView, name: str | None) -> str:
    """The page's title: the campaign's, else the record's project, else `A run`."""
    return plain(str(view.part("title") or name or "A run"))
