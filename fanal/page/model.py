"""The model's settings, each with the law that gave it, and what was promised beside what happened.

Taken from the plan that the record holds; a value a campaign set itself stands beside the reason it gave.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanal.page.ladder import LadderChart
from fanal.page.plan_view import CampaignView, PlannedRun
from fanal.page.progress import Progress
from fanal.page.runs import Phase
from fanal.page.words import NBSP, about, duration, figure, percent, plain, short

Json = Any


@dataclass(frozen=True)
class SettingRow:
    """One hyperparameter over the ladder."""

    name: str
    """As in the recipe."""
    values: list[str]
    """One entry a size, as text, in the order of `SettingsTable.sizes`."""
    formula: str
    """The law, in words or symbols."""
    source: str
    """Where the law comes from."""
    status: str
    """`measured`, `assumed` or `set`."""
    why: str
    """Why it is set otherwise than the recipe says; empty where it is not."""


@dataclass(frozen=True)
class SettingsTable:
    """The hyperparameters of every size."""

    sizes: list[str]
    """Rungs, smallest first, and the hero."""
    rows: list[SettingRow]
    """In the recipe's order."""


@dataclass(frozen=True)
class PromiseRow:
    """One promise or plan beside what happened."""

    name: str
    """What is counted, with its unit in the values."""
    promised: str | None
    """As announced, or as planned; null where neither was said."""
    now: str | None
    """Measured so far."""
    note: str
    """Share done, or what is foretold."""


def settings_table(view: CampaignView) -> SettingsTable | None:
    """The laws of the plan, or None where none is published."""
    runs = [run for run in view.runs if run.run == run.size]
    if not runs or not any(run.laws for run in runs):
        return None
    names = list(dict.fromkeys(str(law["name"]) for run in runs for law in run.laws))
    return SettingsTable([plain(run.size) for run in runs], [_row(name, runs) for name in names])


def _row(name: str, runs: list[PlannedRun]) -> SettingRow:
    laws = [next((law for law in run.laws if law["name"] == name), None) for run in runs]
    newest: Mapping[str, Json] = next(law for law in reversed(laws) if law is not None)
    return SettingRow(
        name=plain(name),
        values=[_value(law["value"]) if law is not None else "–" for law in laws],
        formula=plain(str(newest.get("formula", ""))),
        source=plain(str(newest.get("source", ""))),
        status=plain(str(newest.get("status", ""))),
        why=plain(str(newest.get("why", ""))),
    )


def _value(value: Json) -> str:
    if isinstance(value, bool | str):
        return plain(str(value))
    if float(value).is_integer() and abs(value) < 1_000_000:
        return figure(value, 0)
    if isinstance(value, int):
        return short(value)
    text = f"{value:.4g}"
    if "e" in text:
        digits, _, power = text.partition("e")
        return f"{digits} × 10^{int(power)}".replace("-", "−")
    return text.replace("-", "−")


def promises(view: CampaignView, progress: Progress, ladder: LadderChart | None) -> list[PromiseRow]:
    """Tokens, FLOPs, minutes and loss of the hero: promised or planned, and now."""
    hero = next((r for r in progress.runs if r.role == "hero"), None)
    if hero is None:
        return []
    done = hero.frac or 0.0
    begun = hero.phase is not Phase.PLANNED
    announced: int | None = view.part("announced", "tokens")
    promised = announced or hero.tokens
    return [
        PromiseRow(
            "Tokens of the hero",
            short(promised) if promised else None,
            short(done * hero.tokens) if begun and hero.tokens else None,
            percent(done, 1) if begun else "not begun",
        ),
        PromiseRow(
            "FLOPs, head not counted",
            _power(hero.flops) if hero.flops else None,
            _power(done * hero.flops) if begun and done and hero.flops else None,
            percent(done, 1) if begun else "not begun",
        ),
        _minutes(view, progress),
        _end_loss(ladder, hero.loss if begun else None),
    ]


def _minutes(view: CampaignView, progress: Progress) -> PromiseRow:
    minutes = view.part("announced", "minutes")
    spent = (progress.last_ns - progress.started_ns) / 1e9 if progress.last_ns and progress.started_ns else None
    left = progress.seconds_left
    ended = progress.phase is not Phase.RUNNING
    note = "whole campaign" if ended else f"ends in {about(left)}" if left is not None else "end not yet known"
    return PromiseRow(
        "Wall time",
        f"{minutes:g}{NBSP}min" if minutes is not None else None,
        duration(spent) if spent is not None else None,
        note,
    )


def _end_loss(ladder: LadderChart | None, now: float | None) -> PromiseRow:
    forecast = ladder.forecast if ladder else None
    measured = ladder.measured if ladder else None
    shown = f"{measured:.3f}" if measured is not None else f"{now:.3f} now" if now is not None else None
    note = f"{figure(forecast.p10, 3)} to {figure(forecast.p90, 3)} foretold" if forecast else "no forecast published"
    return PromiseRow("Loss at the end", f"{forecast.p50:.3f}" if forecast else None, shown, note)


def _power(flops: float) -> str:
    digits, _, power = f"{flops:.2e}".partition("e")
    return f"{digits} × 10^{int(power)}"
