"""From rungs to the forecast document: what the hero will measure, over its progress and at its end.

Guarantees: a pure function of the rungs' records and the hero's plan; plain JSON without NaN, the same
bytes for the same input; no point without an interval. Cost: under a second for twenty shares of a run.
Does not: write anything (`seal.py`) or look at the hero (`score.py`). The layout is in docs/forecast.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fanal.campaign.count import CONVENTIONS
from fanal.campaign.fingerprint import plain
from fanal.campaign.spec import ForecastSpec
from fanal.errors import CampaignError, RefusedError
from fanal.ladder.fit import (
    NATS,
    PERCENTS,
    RELATIVE,
    Line,
    Points,
    Posterior,
    PosteriorOptions,
    Prediction,
    fit_last_two,
    fit_line,
    fit_posterior,
)
from fanal.ladder.rungs import WITH_HEAD, WITHOUT_HEAD, HeroPlan, LadderRecord, Rungs
from fanal.record.metrics import FULL_MACRO

Json = Any

FORMAT = 1
LINE_ASYMPTOTE = 1.5
"""Of the line that the page draws beside the forecast and that every score is held against."""
LINES = ("asymptote 0", "asymptote 1.5", "last two rungs")
QUANTILES = tuple(f"p{percent}" for percent in PERCENTS)
PATH_POINTS = 25
ASYMPTOTES = {"relative": RELATIVE, "nats": NATS}


@dataclass(frozen=True)
class ForecastOptions:
    """How a forecast is made; written into its document in full."""

    convention: str = WITHOUT_HEAD
    posterior: PosteriorOptions = field(default_factory=PosteriorOptions)

    @classmethod
    def of(cls, spec: ForecastSpec) -> "ForecastOptions":
        """What `[forecast]` of a campaign asks for.

        Raises: CampaignError for a method or an asymptote that is not there.
        """
        if spec.method not in ("default", "posterior"):
            raise CampaignError(f"forecast.method must be 'default' or 'posterior', got {spec.method!r}")
        if spec.asymptote not in ASYMPTOTES:
            raise CampaignError(f"forecast.asymptote must be one of {', '.join(ASYMPTOTES)}, got {spec.asymptote!r}")
        return cls(posterior=PosteriorOptions(asymptote=ASYMPTOTES[spec.asymptote]))


def forecast(ladder: LadderRecord, hero: HeroPlan, options: ForecastOptions = ForecastOptions()) -> dict[str, Json]:
    """The document of `hero`, from the rungs alone.

    At a share g of the hero's run the rungs are read at the same share g of theirs and every run's
    compute is its whole compute times g: each share is a ladder of its own, fitted by itself.

    Raises: RefusedError where the ladder does not carry a forecast (too few rungs, mixed units, …).
    """
    if not ladder.levels:
        raise RefusedError("no metric to forecast: name one in [forecast] metrics")
    last = headline(ladder)
    stopped = [f"{rung.name} at {100 * rung.done_frac:.0f} %" for rung in last.rungs if rung.done_frac < 1]
    if stopped:
        raise RefusedError(f"rungs that stopped early carry no forecast yet ({', '.join(stopped)}): finish them")
    method = options.posterior
    return {
        "format": FORMAT,
        "campaign": ladder.shared.get("campaign"),
        "fingerprint": ladder.shared.get("fingerprint"),
        "headline": last.metric,
        "method": {"name": "posterior", "options": plain(method), "source": "docs/forecast.md"},
        "asymptote": {
            "treatment": "relative" if method.asymptote.relative else "nats",
            "mean": method.asymptote.mean,
            "sd": method.asymptote.sd,
            "of": "the smallest rung loss" if method.asymptote.relative else last.unit.kind,
        },
        "compute": {"convention": options.convention, "means": _means(options.convention)},
        "conditions": _conditions(ladder, hero),
        "source": dict(ladder.source),
        "hero": _hero(hero),
        "rungs": [_rung(name, ladder) for name in (rung.name for rung in last.rungs)],
        "metrics": {metric: _metric(levels, hero, options) for metric, levels in ladder.levels.items()},
        "sensitivity": _sensitivity(last, hero, options),
    }


def _means(convention: str) -> str:
    per_token = convention.replace("flops", "flops_per_token")
    return f"{CONVENTIONS[convention]}; {per_token}: {CONVENTIONS[per_token]}"


def headline(ladder: LadderRecord) -> Rungs:
    """The ladder that the result is quoted on: the full eval set where it is foretold, at the end of the run."""
    return (ladder.levels.get(FULL_MACRO) or list(ladder.levels.values())[-1])[-1]


def _metric(levels: tuple[Rungs, ...], hero: HeroPlan, options: ForecastOptions) -> dict[str, Json]:
    """Quantiles and lines of one metric over progress, and the path of compute at its last share."""
    points = [level.points(options.convention) for level in levels]
    flops = [hero.flops[options.convention] * level.progress for level in levels]
    fits = [fit_posterior(p, options.posterior) for p in points]
    predictions = [fit.predict(c) for fit, c in zip(fits, flops, strict=True)]
    lines = [_lines(p) for p in points]
    last = len(levels) - 1
    return {
        "unit": plain(levels[0].unit),
        "progress": [level.progress for level in levels],
        "steps": [round(level.progress * hero.num_steps) for level in levels],
        **_columns(predictions),
        "lines": {
            name: [
                by_name[name].predict(c).p50 if name in by_name else None
                for by_name, c in zip(lines, flops, strict=True)
            ]
            for name in LINES
        },
        "line_intervals": {
            name: {q: line.predict(flops[last]).quantiles.get(q) for q in ("p10", "p90")}
            for name, line in lines[last].items()
        },
        "seed_sd_frac": [level.seed_sd_frac for level in levels],
        "asymptote": dict(fits[last].asymptote().quantiles),
        "exponent": dict(fits[last].exponent().quantiles),
        "path": _path(fits[last], lines[last], points[last], flops[last]),
    }


def _lines(points: Points) -> dict[str, Line]:
    """The lines that can be drawn; one whose asymptote is not below every loss cannot."""
    possible = {"asymptote 0": 0.0, "asymptote 1.5": LINE_ASYMPTOTE}
    made = {name: fit_line(points, a) for name, a in possible.items() if a < points.loss_R.min()}
    return {**made, "last two rungs": fit_last_two(points)}


def _path(fit: Posterior, lines: Mapping[str, Line], points: Points, flops: float) -> dict[str, Json]:
    """Loss against compute from the smallest rung to the hero, for the picture of the ladder."""
    along = np.geomspace(points.flops_R[0], flops, PATH_POINTS)
    drawn = lines.get("asymptote 1.5")
    return {
        "flops": along.tolist(),
        **_columns([fit.predict(float(c)) for c in along]),
        "line": [drawn.predict(float(c)).p50 for c in along] if drawn else [],
    }


def _columns(predictions: list[Prediction]) -> dict[str, list[float]]:
    return {name: [p.quantiles[name] for p in predictions] for name in predictions[0].quantiles}


def _sensitivity(level: Rungs, hero: HeroPlan, options: ForecastOptions) -> list[dict[str, Json]]:
    """How far the answer moves when one choice is made otherwise; the headline metric at the end of the run."""
    posterior, prior = options.posterior, options.posterior.asymptote
    by_head = options.convention == WITHOUT_HEAD
    other = (
        ("asymptote 1.5 ± 0.25 nats", NATS) if prior.relative else ("asymptote 0.6 ± 0.08 of smallest loss", RELATIVE)
    )
    priors = (
        ("asymptote one deviation lower", replace(prior, mean=prior.mean - prior.sd)),
        ("asymptote one deviation higher", replace(prior, mean=prior.mean + prior.sd)),
        other,
    )
    swapped = replace(options, convention=WITH_HEAD if by_head else WITHOUT_HEAD)
    return [
        *(
            _varied(what, level, hero, replace(options, posterior=replace(posterior, asymptote=p)))
            for what, p in priors
        ),
        _varied(f"head {'counted' if by_head else 'not counted'} in FLOPs", level, hero, swapped),
        *(_varied(f"without {rung.name}", level.without(rung.name), hero, options) for rung in level.rungs),
        {"choice": "rungs that stopped early", **dict.fromkeys(QUANTILES), "why": "none: every rung is complete"},
    ]


def _varied(choice: str, level: Rungs, hero: HeroPlan, options: ForecastOptions) -> dict[str, Json]:
    """The forecast under another choice, or why there is none."""
    try:
        fit = fit_posterior(level.points(options.convention), options.posterior)
    except RefusedError as refused:
        return {"choice": choice, **dict.fromkeys(QUANTILES), "why": str(refused)}
    return {"choice": choice, **fit.predict(level.progress * hero.flops[options.convention]).quantiles, "why": None}


def _rung(name: str, ladder: LadderRecord) -> dict[str, Json]:
    """One rung at the end of its run, with its losses by metric and seed."""
    ends = {metric: next(r for r in levels[-1].rungs if r.name == name) for metric, levels in ladder.levels.items()}
    rung = list(ends.values())[-1]
    return {
        "name": name,
        "hidden": rung.hidden,
        "params_total": rung.params_total,
        "params_active": rung.params_active,
        "tokens": rung.tokens,
        "flops": dict(rung.flops),
        "done_frac": rung.done_frac,
        "losses": {metric: list(end.losses) for metric, end in ends.items()},
    }


def _hero(hero: HeroPlan) -> dict[str, Json]:
    return {
        "run": hero.run,
        "hidden": hero.hidden,
        "params_total": hero.params_total,
        "params_active": hero.params_active,
        "tokens": hero.tokens,
        "flops": dict(hero.flops),
        "num_steps": hero.num_steps,
    }


def _conditions(ladder: LadderRecord, hero: HeroPlan) -> dict[str, Json]:
    """What must hold of the hero for the forecast to be about it."""
    shared = ladder.shared
    return {
        "mixture": plain(shared.get("mixture", [])),
        "corpus_fingerprint": shared.get("corpus_fingerprint"),
        "tokenizer_sha256": shared.get("tokenizer_sha256"),
        "seq_tokens": hero.seq_tokens,
        "batch_seqs": hero.batch_seqs,
        "batch_tokens": hero.batch_seqs * hero.seq_tokens,
        "tokens": hero.tokens,
        "evals": plain(shared.get("evals", {})),
        "eval_sets": plain(shared.get("eval_sets", [])),
    }
