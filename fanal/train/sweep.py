"""Rates by sweep: short trainings around a plan's rates, the best of each size, and the law through them.

Guarantees that a law rests on the swept sizes alone and says which of its points lie at the edge of what was
swept. Two sizes of one ladder cannot tell width from length apart, so the exponents start at the published law's
and move as far as the sweep speaks. Costs one whole training a point. Nothing is recorded or saved.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fanal.campaign.derived import RunPlan
from fanal.campaign.recipes import PowerLaw
from fanal.record import metrics
from fanal.train.inputs import TrainInputs
from fanal.train.loop import train

MULTIPLIERS = (0.5, 1.0, 2.0)
PUBLISHED_HIDDEN_EXP, PUBLISHED_TOKENS_EXP = -0.3448, -0.3461
"""Exponents of the reference's rate law, fitted at 768 to 6,144 wide; the prior here."""
PRIOR_DEVIATION = 0.3
"""How far an exponent may lie from the published one."""
RATE_DEVIATION = 0.2
"""Error of a swept rate's logarithm."""


@dataclass(frozen=True)
class SweepPoint:
    """One training at one pair of rates."""

    run: str
    hidden: int
    tokens: int
    adam_lr: float
    muonh_lr: float
    """AdamH's rate is tied to it, in the plan's proportion."""
    pulse_loss: float
    full_loss: float


@dataclass(frozen=True)
class BestRates:
    """Where the loss of one size is smallest, on a quadratic in the logarithms of both rates."""

    hidden: int
    tokens: int
    adam_lr: float
    muonh_lr: float
    loss: float
    """The quadratic's value there."""
    inside: bool
    """False where it lies at the edge of what was swept: sweep again around it."""


@dataclass(frozen=True)
class SweepReport:
    """Every training, the best of each size, and the laws."""

    points: tuple[SweepPoint, ...]
    best: tuple[BestRates, ...]
    laws: dict[str, PowerLaw]
    """`adam_lr` and `muonh_lr`."""

    @property
    def text(self) -> str:
        """The report for a person: a table, the best, the laws."""
        lines = [f"{'run':<24}{'tokens':>9}{'adam_lr':>10}{'muonh_lr':>10}{'pulse':>12}{'full':>12}  (nats per token)"]
        lines += [
            f"{p.run:<24}{p.tokens:>9,}{p.adam_lr:>10.5f}{p.muonh_lr:>10.5f}"
            f"{_shown(p.pulse_loss):>12}{_shown(p.full_loss):>12}"
            for p in self.points
        ]
        lines += [_words(best) for best in self.best]
        lines += [f"{name} = {law.formula}" for name, law in self.laws.items()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON; a loss that is not finite is null."""
        laws = {name: {**asdict(law), "formula": law.formula} for name, law in self.laws.items()}
        points = [_finite(asdict(p)) for p in self.points]
        return {"points": points, "best": [asdict(b) for b in self.best], "laws": laws}


def sweep(
    runs: Sequence[RunPlan], inputs_of: Callable[[RunPlan], TrainInputs], multipliers: Sequence[float] = MULTIPLIERS
) -> SweepReport:
    """Train every variant of every run, and fit; `inputs_of` gives each its inputs, unrecorded and unsaved.

    Raises:
        KeyboardInterrupt: it was told to stop.
    """
    all_variants = [variant for run in runs for variant in variants(run, multipliers)]
    return report([_train_point(variant, inputs_of(variant)) for variant in all_variants])


def variants(run: RunPlan, multipliers: Sequence[float]) -> tuple[RunPlan, ...]:
    """The run at every pair of multiples of its two rates; scored and sampled only where the plan ends."""
    return tuple(_variant(run, a, m) for a, m in itertools.product(multipliers, multipliers))


def report(points: Sequence[SweepPoint]) -> SweepReport:
    """The best of each size and the laws through them."""
    sizes = sorted({(p.hidden, p.tokens) for p in points})
    best = tuple(best_rates([p for p in points if (p.hidden, p.tokens) == size]) for size in sizes)
    laws = {name: fit_law([(b.hidden, b.tokens, getattr(b, name)) for b in best]) for name in ("adam_lr", "muonh_lr")}
    return SweepReport(tuple(points), best, laws)


def best_rates(points: Sequence[SweepPoint]) -> BestRates:
    """The smallest value, within what was swept, of the quadratic through the losses of one size.

    Raises:
        ValueError: fewer than six trainings with a finite loss, which determine no quadratic.
    """
    finite = [p for p in points if math.isfinite(p.full_loss)]
    if len(finite) < 6:
        raise ValueError(f"a quadratic in two rates needs six finite losses, got {len(finite)} of {len(points)}")
    adam, muonh = (np.log2([getattr(p, name) for p in finite]) for name in ("adam_lr", "muonh_lr"))
    factors, *_ = np.linalg.lstsq(_quadratic(adam, muonh), np.array([p.full_loss for p in finite]), rcond=None)
    grid = [np.linspace(x.min(), x.max(), 201) for x in (adam, muonh)]
    adam_XY, muonh_XY = np.meshgrid(*grid, indexing="ij")
    loss_X = _quadratic(adam_XY.ravel(), muonh_XY.ravel()) @ factors
    place = int(loss_X.argmin())
    found = adam_XY.ravel()[place], muonh_XY.ravel()[place]
    inside = all(x.min() < value < x.max() for x, value in zip((adam, muonh), found, strict=True))
    return BestRates(
        points[0].hidden, points[0].tokens, float(2 ** found[0]), float(2 ** found[1]), float(loss_X[place]), inside
    )


def fit_law(rates: Sequence[tuple[int, int, float]]) -> PowerLaw:
    """The law c·hidden^a·tokens^b through (hidden, tokens, rate), its exponents drawn towards the published ones.

    Least squares in logarithms with a normal prior on both exponents; the factor is free.
    """
    hidden, tokens, rate = (np.log(np.array(column, float)) for column in zip(*rates, strict=True))
    design = np.stack([np.ones_like(hidden), hidden - math.log(32), tokens - math.log(100_000)], axis=1)
    prior = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * (RATE_DEVIATION / PRIOR_DEVIATION)
    aim = np.array([PUBLISHED_HIDDEN_EXP, PUBLISHED_TOKENS_EXP]) * (RATE_DEVIATION / PRIOR_DEVIATION)
    (log_c, a, b), *_ = np.linalg.lstsq(np.vstack([design, prior]), np.concatenate([rate, aim]), rcond=None)
    return PowerLaw(math.exp(log_c), float(a), float(b))


def _variant(run: RunPlan, adam: float, muonh: float) -> RunPlan:
    plan = run.optimizer
    rates = replace(plan, adam_lr=plan.adam_lr * adam, muonh_lr=plan.muonh_lr * muonh, adamh_lr=plan.adamh_lr * muonh)
    end = (run.num_steps,)
    return replace(
        run,
        run=f"{run.run}-adam×{adam:g}-muonh×{muonh:g}",
        optimizer=rates,
        pulse_steps=end,
        full_steps=end,
        sample_steps=(),
    )


def _train_point(run: RunPlan, inputs: TrainInputs) -> SweepPoint:
    result = train(run, inputs)
    if result.interrupted:
        raise KeyboardInterrupt
    return SweepPoint(
        run=run.run,
        hidden=run.hidden,
        tokens=run.tokens,
        adam_lr=run.optimizer.adam_lr,
        muonh_lr=run.optimizer.muonh_lr,
        pulse_loss=result.scores[metrics.PULSE_MACRO],
        full_loss=result.scores[metrics.FULL_MACRO],
    )


def _quadratic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _finite(point: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in point.items()}


def _shown(loss: float) -> str:
    return f"{loss:.4f}" if math.isfinite(loss) else "not finite"


def _words(best: BestRates) -> str:
    edge = "" if best.inside else "; at the edge of what was swept, so sweep again around it"
    return (
        f"best at {best.hidden} wide, {best.tokens:,} tokens: adam_lr {best.adam_lr:.5f}, muonh_lr {best.muonh_lr:.5f} "
        f"({best.loss:.4f} nats per token on the quadratic{edge})"
    )
