"""A run's sealed forecast as a band over its progress, and each eval held against it.

The document is read as it was sealed and never fitted again; between two foretold shares of the run its
quantiles are interpolated linearly, as in `ladder/score.py`. That the forecast came first is computed
from sequence numbers, not believed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanal.page.runs import loss_key
from fanal.page.seen import SeenRun
from fanal.page.series import Points
from fanal.record.events import Event
from fanal.record.metrics import FULL_MACRO

Json = Any


@dataclass(frozen=True)
class Quantiles:
    """One prediction: its median and its 80 % interval."""

    p10: float
    """One in ten should end below this."""
    p50: float
    """Median."""
    p90: float
    """One in ten should end above this."""


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


def differences(evals: Points | None, band: Band | None) -> list[Difference]:
    """Every finite eval from the first foretold share on, held against `band`."""
    if evals is None or band is None:
        return []
    found: list[Difference] = []
    for at, value in zip(evals.progress, evals.value, strict=True):
        if value is None or at < band.progress[0]:
            continue
        p10, p50, p90 = (float(np.interp(at, band.progress, q)) for q in (band.p10, band.p50, band.p90))
        found.append(Difference(at, value, float(f"{value - p50:.4g}"), p10 <= value <= p90))
    return found
