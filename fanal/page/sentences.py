"""The page's first words: one generated sentence, the state line above it, and the title.

What, how far, against what was foretold, when it ends; figures before adjectives, no praise and no blame.
Every sentence is made from parts of the state that are shown below it. What the record does not say is
called not stated or not published.
"""

from dataclasses import dataclass

from fanal.page.hero import HeroChart
from fanal.page.ladder import LadderChart
from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress
from fanal.page.runs import Phase, RunRow
from fanal.page.words import about, clock, counted, duration, figure, percent, plain, spelled

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
        silent_rest=f"Nothing since {last}{every}; stopped or waiting, cause not stated. Last known: {before}",
        silent_after_seconds=limit,
    )


def _said(
    view: CampaignView, progress: Progress, hero: HeroChart | None, ladder: LadderChart | None
) -> tuple[str, str]:
    row = next((r for r in progress.runs if hero is not None and r.run == hero.run), None)
    match progress.phase:
        case Phase.PLANNED:
            return "Waiting for the first row.", "The record is empty; the page looks again by itself."
        case Phase.FINISHED if ladder is not None and ladder.measured is not None:
            return _verdict(ladder)
        case Phase.FINISHED:
            clause = _loss_clause(hero, row)
            return f"{_name(row)} finished" + (";" if clause else "."), f"{clause}." if clause else ""
        case Phase.INTERRUPTED | Phase.FAILED:
            name = _name(row)
            where = f"{name[0].lower()}{name[1:]} {percent(row.frac or 0.0)} done" if row else "before the first run"
            reason = (progress.reason or "cause not stated").rstrip(".")
            return f"{progress.phase.value.capitalize()}, {where};", f"{reason}. The same command goes on from here."
        case Phase.RUNNING if progress.current_run is not None:
            return _training(progress, hero, ladder)
        case _:
            return _reading(view, progress)


def _training(progress: Progress, hero: HeroChart | None, ladder: LadderChart | None) -> tuple[str, str]:
    running = next(r for r in progress.runs if r.run == progress.current_run)
    if running.step == 0:
        return f"{_name(running)} begins;", _awaited(running, ladder)
    shown = hero if hero and hero.run == running.run else None
    done = f"{percent(running.frac)} done" if running.frac is not None else f"at step {figure(running.step, 0)}"
    left = running.seconds_left if running.role == "hero" or running.num_steps is None else progress.seconds_left
    end = "ends in" if running.role == "hero" else "the campaign ends in"
    clauses = [_loss_clause(shown, running), f"{end} {about(left)}" if left is not None else ""]
    rest = "; ".join(clause for clause in clauses if clause)
    return f"{_name(running)} {done};" if rest else f"{_name(running)} {done}.", f"{rest}." if rest else ""


def _awaited(running: RunRow, ladder: LadderChart | None) -> str:
    """What there is to say between a run's start and its first row: its step is compiled then."""
    foretold = ladder.forecast if ladder and running.role == "hero" else None
    if foretold is None:
        return "its first row is awaited."
    span = f"{figure(foretold.p10, 2)} to {figure(foretold.p90, 2)}"
    return f"its loss at the end is foretold and sealed: {figure(foretold.p50, 2)}, {percent(0.8)} band {span}."


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
    parts = ladder.metric.split("/")
    scored = f" on the {parts[1]} set" if parts[0] == "eval" and len(parts) > 1 else ""
    lead = f"Hero finished at {figure(ladder.measured, 3)}{scored};"
    if ladder.forecast is None:
        return lead, "no forecast is published."
    p10, p50, p90 = ladder.forecast.p10, ladder.forecast.p50, ladder.forecast.p90
    inside = p10 <= ladder.measured <= p90
    against = _against((ladder.measured - p50) / p50)
    place = _band_words(ladder.measured - p50, inside)
    span = f"{figure(p10, 3)} to {figure(p90, 3)}"
    return lead, f"loss {against}, {place} of {span}. An honest {percent(0.8)} band misses one time in five."


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


def status_line(progress: Progress, hero: HeroChart | None) -> StatusLine:
    """State in one word, with the step and the campaign's age; once nothing runs, what it took and when that was."""
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
        span = duration((progress.last_ns - progress.started_ns) / 1e9)
        if progress.phase is Phase.RUNNING:
            facts.append(f"{span} into the campaign")
        else:
            facts += [f"{span} from start to end", f"ended {clock(progress.last_ns)}"]
    return StatusLine(word, facts)


def run_title(view: CampaignView, name: str | None) -> str:
    """The page's title: the campaign's, else the first run's name, else `A run`."""
    return plain(str(view.part("title") or name or "A run"))
