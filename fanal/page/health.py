"""What a follower looks at first: a short list, each line a fact of the record and whether it needs a look.

A line says `look` by a rule that is written here and nowhere hidden: a rising loss, an eval outside the
band, anything skipped, not finite or restarted, an uneven router, many dropped assignments. It finds no
causes.
"""

import math
from dataclasses import dataclass

from fanal.page.hero import HeroChart
from fanal.page.progress import Progress
from fanal.page.router import RouterChart
from fanal.page.runs import Phase, RunRow
from fanal.page.series import Envelope
from fanal.page.words import counted, figure, percent, short, signed

EVEN_ENOUGH = 0.8
FEW_DROPPED = 0.02


@dataclass(frozen=True)
class HealthRow:
    """One thing to look at."""

    mark: str
    """`steady`, `look` or `absent`: dot, triangle or dash."""
    name: str
    """What."""
    words: str
    """How it is."""


def health(progress: Progress, hero: HeroChart | None, router: RouterChart | None, num_samples: int) -> list[HealthRow]:
    """What a follower looks at first, once a run has begun; what the record does not hold is named."""
    if hero is None:
        return []
    row = next((r for r in progress.runs if r.run == hero.run), None)
    restarts = sum(max(0, r.attempts - 1) for r in progress.runs)
    found = {
        "Loss": _loss_health(hero),
        "Forecast": _forecast_health(hero),
        "Speed": _speed_health(row),
        "Updates": _updates_health(row),
        "Values": _values_health(hero),
        "Router": _router_health(router),
        "Dropped": _dropped_health(router),
        "Restarts": _restarts_health(restarts) if progress.runs else None,
        "Samples": ("steady", "of fixed prompts, below") if num_samples else None,
    }
    live = progress.phase in (Phase.RUNNING, Phase.PLANNED)
    missing = "not in the record yet" if live else "not published by this run"
    return [HealthRow(*(said[0], name, said[1]) if said else ("absent", name, missing)) for name, said in found.items()]


def _updates_health(row: RunRow | None) -> tuple[str, str] | None:
    if row is None:
        return None
    return ("look", f"{figure(row.skipped, 0)} skipped") if row.skipped else ("steady", "none skipped")


def _restarts_health(count: int) -> tuple[str, str]:
    return ("look", f"{figure(count, 0)}, in the timeline") if count else ("steady", "none")


def _values_health(hero: HeroChart) -> tuple[str, str] | None:
    if hero.train is None and hero.evals is None:
        return None
    bad = sum(m.count for part in (hero.train, hero.evals) if part for m in part.marks)
    return ("look", f"{counted(bad, 'value')} not finite") if bad else ("steady", "all finite")


def _loss_health(hero: HeroChart) -> tuple[str, str] | None:
    evals = hero.evals
    known = [(s, v) for s, v in zip(evals.step, evals.value, strict=True) if v is not None] if evals else []
    if len(known) < 2:
        return None
    (before, old), (after, new) = known[-2:]
    rising = new > old
    words = f"{'rising' if rising else 'falling'}, {signed(new - old, 3)} in {figure(after - before, 0)} steps"
    return "look" if rising else "steady", words


def _forecast_health(hero: HeroChart) -> tuple[str, str] | None:
    if hero.band is None:
        return None
    inside, total = sum(d.inside for d in hero.differences), len(hero.differences)
    if not total:
        return "steady", "sealed, no eval yet"
    parts = hero.metric.split("/")
    which = f"{parts[1]} eval" if parts[0] == "eval" and len(parts) > 1 else "eval"
    words = f"inside its {percent(0.8)} band at {inside} of {counted(total, which)}"
    return "steady" if inside == total else "look", words


def _speed_health(row: RunRow | None) -> tuple[str, str] | None:
    if row is None or not row.seconds or not row.tokens or not row.num_steps:
        return None
    speed = row.tokens / row.num_steps * row.step / row.seconds
    return "steady", f"{short(speed)} tokens a second, evals included"


def _router_health(router: RouterChart | None) -> tuple[str, str] | None:
    layers = router.layers if router else []
    known = [(layer, value) for layer in layers if (value := _newest(layer.entropy)) is not None]
    if not known:
        return None
    even = min(math.exp(value) / layer.num_experts for layer, value in known)
    return "steady" if even > EVEN_ENOUGH else "look", f"as even as an equal load on {percent(even)} of the experts"


def _dropped_health(router: RouterChart | None) -> tuple[str, str] | None:
    values = [v for layer in (router.layers if router else []) if (v := _newest(layer.dropped)) is not None]
    if not values:
        return None
    return "steady" if max(values) < FEW_DROPPED else "look", f"{percent(max(values), 2)} of assignments found no slot"


def _newest(line: Envelope | None) -> float | None:
    return next((v for v in reversed(line.mean) if v is not None), None) if line else None
