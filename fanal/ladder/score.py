"""A forecast held against what was measured: at every eval, and once at the end.

Guarantees: pure arithmetic on the sealed document and a number; errors are signed, measured minus
foretold. An honest 80 % interval misses one time in five, so one miss proves nothing and one hit
little. Cost: none. Does not: change a forecast, or look at anything but the number it is given.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fanal.ladder.forecast import LINES
from fanal.ladder.seal import document_sha256

Json = Any

DRAWN_LINE = "asymptote 1.5"


@dataclass(frozen=True)
class Score:
    """One measurement beside its forecast, in the metric's unit."""

    metric: str
    progress: float
    measured: float
    p10: float
    p50: float
    p90: float
    line: float | None
    """The line with asymptote 1.5 at the same share of the run."""

    @property
    def inside(self) -> bool:
        """Inside the 80 % interval, its borders included."""
        return self.p10 <= self.measured <= self.p90

    @property
    def error(self) -> float:
        """Measured minus median; negative where the run did better than foretold."""
        return self.measured - self.p50

    @property
    def error_frac(self) -> float:
        """The same as a share of the median."""
        return self.error / self.p50

    def event_fields(self, sha256: str) -> dict[str, Json]:
        """The fields of a `forecast.score` event."""
        return {
            "forecast_sha256": sha256,
            "metric": self.metric,
            "progress": self.progress,
            "measured": self.measured,
            "p10": self.p10,
            "p50": self.p50,
            "p90": self.p90,
            "line": self.line,
            "inside": self.inside,
        }


def score(document: Mapping[str, Json], metric: str, progress: float, measured: float) -> Score | None:
    """`measured` beside the forecast of `metric` at `progress`; None before its first foretold share.

    Between two foretold shares the quantiles are interpolated linearly.

    Raises: ValueError for a metric that has no forecast, or a measurement that is not finite.
    """
    if metric not in document["metrics"]:
        raise ValueError(f"no forecast of {metric!r}; there are {', '.join(document['metrics'])}")
    if not np.isfinite(measured):
        raise ValueError(f"{metric} at {progress:.3f} of the run is {measured}: nothing to score")
    foretold = document["metrics"][metric]
    shares = foretold["progress"]
    if progress < shares[0] - 1e-9:
        return None
    p10, p50, p90 = (float(np.interp(progress, shares, foretold[name])) for name in ("p10", "p50", "p90"))
    drawn = foretold["lines"][DRAWN_LINE]
    line = None if None in drawn else float(np.interp(progress, shares, drawn))
    return Score(metric, progress, measured, p10, p50, p90, line)


@dataclass(frozen=True)
class LineScore:
    """One of the lines that everybody draws, at the end of the run."""

    name: str
    value: float | None
    """None where the line cannot be drawn: its asymptote lies above a loss."""
    error: float | None
    skill: float | None
    width_share: float | None
    p10: float | None = None
    """Borders of the textbook interval; None where two rungs leave nothing to measure a residual."""
    p90: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Its part of `summary.json`."""
        return {key: value for key, value in asdict(self).items() if key != "name"}


@dataclass(frozen=True)
class Verdict:
    """The forecast's result at the end of the hero's run."""

    final: Score
    top_rung_loss: float
    lines: tuple[LineScore, ...]

    @property
    def improvement(self) -> float:
        """What the hero gained over the largest rung: the length that errors are measured in."""
        return self.top_rung_loss - self.final.measured

    @property
    def skill(self) -> float | None:
        """1 − |error| / improvement; 0 is as good as saying that nothing is gained. None without improvement."""
        return _skill(self.final.error, self.improvement)

    @property
    def width_share(self) -> float | None:
        """Width of the 80 % interval over the improvement."""
        return _share(self.final.p90 - self.final.p10, self.improvement)


def verdict(document: Mapping[str, Json], measured: float) -> Verdict:
    """The headline metric at the end of the run."""
    metric = document["headline"]
    foretold = document["metrics"][metric]
    final = score(document, metric, foretold["progress"][-1], measured)
    assert final is not None, "the last share is foretold"
    top = float(np.mean(document["rungs"][-1]["losses"][metric]))
    return Verdict(final, top, tuple(_line_score(foretold, name, measured, top - measured) for name in LINES))


def summarise(
    document: Mapping[str, Json], measured: float, *, sealed_before_step_0: bool, seconds: Mapping[str, float]
) -> dict[str, Json]:
    """The content of `summary.json`; losses in the headline metric's unit, FLOPs in the document's convention."""
    result, metric = verdict(document, measured), document["headline"]
    convention, hero, final = document["compute"]["convention"], document["hero"], result.final
    return {
        "campaign": document["campaign"],
        "fingerprint": document["fingerprint"],
        "metric": metric,
        "unit": document["metrics"][metric]["unit"]["kind"],
        "flops_convention": convention,
        "rungs": [
            {
                **{key: rung[key] for key in ("name", "params_total", "params_active", "tokens")},
                "flops": rung["flops"][convention],
                "loss": float(np.mean(rung["losses"][metric])),
                "seeds": len(rung["losses"][metric]),
            }
            for rung in document["rungs"]
        ],
        "forecast": {
            "p10": final.p10,
            "p50": final.p50,
            "p90": final.p90,
            "sealed_before_step_0": sealed_before_step_0,
            "sha256": document_sha256(document),
        },
        "hero": {
            "name": hero["run"],
            **{key: hero[key] for key in ("params_total", "params_active", "tokens")},
            "flops": hero["flops"][convention],
            "loss": measured,
            "inside": final.inside,
            "error": final.error,
        },
        "skill": result.skill,
        "width_share": result.width_share,
        "lines": {line.name: line.to_json() for line in result.lines},
        "seconds": {**seconds, "total": float(sum(seconds.values()))},
    }


def _line_score(foretold: Mapping[str, Json], name: str, measured: float, improvement: float) -> LineScore:
    value = foretold["lines"][name][-1]
    if value is None:
        return LineScore(name, None, None, None, None)
    p10, p90 = (foretold["line_intervals"][name][quantile] for quantile in ("p10", "p90"))
    wide = None if p10 is None else _share(p90 - p10, improvement)
    return LineScore(name, value, measured - value, _skill(measured - value, improvement), wide, p10, p90)


def _skill(error: float, improvement: float) -> float | None:
    return 1 - abs(error) / improvement if improvement > 0 else None


def _share(width: float, improvement: float) -> float | None:
    return width / improvement if improvement > 0 else None
