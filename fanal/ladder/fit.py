"""Methods that carry losses along a path of compute: a line with a fixed asymptote, and a posterior.

Guarantees: pure, deterministic (fixed quadrature and a fixed low-discrepancy set of draws, no
optimiser, no random state), and every interval is made of the same draws as its median. Cost: a
posterior about 2 ms, a prediction about 1 ms. Does not: choose rungs, read records, or know what
the hero measured. Sources: the line is the one of marin-community/marin#8096; the posterior is
method e of our backtests (conjugate regression given the asymptote, mixed by marginal likelihood).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from fanal.errors import RefusedError

FloatArray = NDArray[np.float64]

PERCENTS = (10, 25, 50, 75, 90)
"""The quantiles of every forecast; p10 to p90 is the 80 % interval."""
NUM_DRAWS = 8192
"""Draws of a prediction; their quantiles move by less than 1 % of the interval's width when doubled."""


@dataclass(frozen=True)
class Points:
    """What a method sees: one loss a rung along one path of compute, ascending.

    Shapes: R rungs. Units: FLOPs of the whole run, any loss, seed noise as a share of the loss.
    Raises: RefusedError where no method could say anything true.
    """

    flops_R: FloatArray
    loss_R: FloatArray
    """Mean over a rung's seeds."""
    num_seeds_R: FloatArray
    seed_sd_frac: float = 0.0
    """Standard deviation of one run's log loss between seeds; 0 where no rung was repeated."""

    def __post_init__(self) -> None:
        columns = (self.flops_R, self.loss_R, self.num_seeds_R)
        if len({a.shape for a in columns}) != 1 or self.flops_R.ndim != 1:
            raise ValueError(f"one value a rung in each column, got shapes {[a.shape for a in columns]}")
        if not all(np.isfinite(a).all() and (a > 0).all() for a in columns):
            raise RefusedError(
                f"FLOPs, losses and seeds must be finite and positive, got {[a.tolist() for a in columns]}"
            )
        if (np.diff(self.flops_R) <= 0).any():
            raise RefusedError(
                f"rungs must differ in compute, ascending, got {self.flops_R.tolist()}: leave one of equals out"
            )


@dataclass(frozen=True)
class Prediction:
    """What every method returns: quantiles of the hero's loss, and the draws behind them."""

    quantiles: Mapping[str, float]
    """`p10` … `p90`; a method without an interval has `p50` alone."""
    draws_Z: FloatArray = field(repr=False)
    """Equally likely losses."""

    @property
    def p50(self) -> float:
        return self.quantiles["p50"]

    @classmethod
    def of(cls, draws_Z: FloatArray) -> "Prediction":
        """The quantiles of draws."""
        values = np.quantile(draws_Z, np.array(PERCENTS) / 100)
        return cls({f"p{q}": float(v) for q, v in zip(PERCENTS, values, strict=True)}, draws_Z)


@dataclass(frozen=True)
class Line:
    """log(loss − asymptote) = intercept + slope · log FLOPs, by least squares, with the textbook prediction interval.

    The interval believes in the asymptote and the straight line; on public ladders it held 42 % where it says 80 %.
    """

    asymptote: float
    slope: float
    centre: tuple[float, float]
    """Means of log FLOPs and of log(loss − asymptote)."""
    residual_sd: float
    spread: float
    """Sum of squared deviations of log FLOPs."""
    num_rungs: int

    def predict(self, flops: float) -> Prediction:
        """The loss at `flops`; with two rungs a point, for nothing is left to measure a residual."""
        offset = float(np.log(flops)) - self.centre[0]
        log_gap = self.centre[1] + self.slope * offset
        freedom = self.num_rungs - 2
        if freedom == 0:
            value = float(self.asymptote + np.exp(log_gap))
            return Prediction({"p50": value}, np.array([value]))
        sd = self.residual_sd * np.sqrt(1 + 1 / self.num_rungs + offset**2 / self.spread)
        quantiles = {
            f"p{q}": float(self.asymptote + np.exp(log_gap + sd * stdtrit(freedom, q / 100))) for q in PERCENTS
        }
        midpoints_Z = (np.arange(NUM_DRAWS) + 0.5) / NUM_DRAWS
        return Prediction(quantiles, self.asymptote + np.exp(log_gap + sd * stdtrit(freedom, midpoints_Z)))


def fit_line(points: Points, asymptote: float) -> Line:
    """The line that everybody draws, with its asymptote as an argument and not a habit.

    Raises: RefusedError with fewer than two rungs, or an asymptote that is not below every loss.
    """
    if len(points.loss_R) < 2:
        raise RefusedError(f"a line needs two rungs, got {len(points.loss_R)}")
    if asymptote >= points.loss_R.min():
        raise RefusedError(f"asymptote {asymptote:g} must lie below the smallest loss {points.loss_R.min():g}")
    x_R, y_R = np.log(points.flops_R), np.log(points.loss_R - asymptote)
    dx_R, dy_R = x_R - x_R.mean(), y_R - y_R.mean()
    spread = float(dx_R @ dx_R)
    slope = float(dx_R @ dy_R) / spread
    residual = float(np.sum((dy_R - slope * dx_R) ** 2))
    freedom = max(len(x_R) - 2, 1)
    return Line(
        asymptote, slope, (float(x_R.mean()), float(y_R.mean())), float(np.sqrt(residual / freedom)), spread, len(x_R)
    )


def fit_last_two(points: Points) -> Line:
    """The straight line on log-log paper through the last two rungs (asymptote 0); a point without an interval."""
    last = Points(points.flops_R[-2:], points.loss_R[-2:], points.num_seeds_R[-2:], points.seed_sd_frac)
    return fit_line(last, 0.0)


@dataclass(frozen=True)
class AsymptotePrior:
    """What is believed of the asymptote before a ladder is seen: normal, cut off at 0 and below the smallest loss."""

    mean: float
    sd: float
    relative: bool
    """True: of asymptote over the smallest rung loss. False: of the asymptote itself, in the loss's unit."""

    def in_loss_units(self, smallest_loss: float) -> tuple[float, float]:
        """Mean and standard deviation in the loss's own unit."""
        factor = smallest_loss if self.relative else 1.0
        return self.mean * factor, self.sd * factor


RELATIVE = AsymptotePrior(0.6, 0.08, relative=True)
"""For any unit and any size; chosen by leave-one-family-out on public ladders (forecasting notes, method e)."""
NATS = AsymptotePrior(1.5, 0.25, relative=False)
"""For nats per token at 3.5–5 bytes a token and above 1e18 FLOPs; chosen before looking."""


@dataclass(frozen=True)
class PosteriorOptions:
    """The posterior's constants; none was tuned on the ladder that is forecast."""

    asymptote: AsymptotePrior = RELATIVE
    misfit_per_decade: float = 0.006
    """Standard deviation of log loss by which the law itself is off, for each decade of extrapolation."""
    misfit_floor_decades: float = 0.5
    """Decades that are charged at least."""
    residual_shape: float = 2.0
    """Inverse-gamma prior of the residual variance of log loss: worth four residuals …"""
    residual_scale: float = 2e-5
    """… of √(2e-5 / 2) = 0.32 % of the loss each."""
    num_asymptotes: int = 120
    num_residuals: int = 40


@dataclass(frozen=True)
class Posterior:
    """A weighted grid over (asymptote, residual), each point with its own weighted regression in closed form.

    Shapes: G grid points.
    """

    options: PosteriorOptions
    points: Points
    weight_G: FloatArray
    asymptote_G: FloatArray
    residual_var_G: FloatArray
    intercept_G: FloatArray
    """At the mean of log FLOPs."""
    slope_G: FloatArray
    cov_G: tuple[FloatArray, FloatArray, FloatArray]
    """Variances of intercept and slope, and their covariance."""

    def predict(self, flops: float) -> Prediction:
        """The loss at `flops`, with every uncertainty that the method carries.

        They are: asymptote, intercept and slope; the residual and one seed's noise of the run itself;
        and misfit, which grows with the decades beyond the largest rung.
        """
        pick_Z, noise_Z, misfit_Z = _draws(self.weight_G)
        x = float(np.log(flops) - np.log(self.points.flops_R).mean())
        mean_G = self.intercept_G + self.slope_G * x
        var_a_G, var_b_G, cov_ab_G = self.cov_G
        gap_G = np.exp(mean_G)
        # noise is a share of the loss: on log(loss − asymptote) it is larger by loss / (loss − asymptote)
        own_var_G = (1 + self.asymptote_G / gap_G) ** 2 * (self.residual_var_G + self.points.seed_sd_frac**2)
        sd_G = np.sqrt(var_a_G + 2 * x * cov_ab_G + x**2 * var_b_G + own_var_G)
        loss_Z = self.asymptote_G[pick_Z] + np.exp(mean_G[pick_Z] + sd_G[pick_Z] * noise_Z)
        decades = max(self.options.misfit_floor_decades, float(np.log10(flops / self.points.flops_R[-1])))
        return Prediction.of(loss_Z * np.exp(self.options.misfit_per_decade * decades * misfit_Z))

    def asymptote(self) -> Prediction:
        """What the ladder leaves open about the asymptote."""
        return Prediction.of(self.asymptote_G[_draws(self.weight_G)[0]])

    def exponent(self) -> Prediction:
        """The exponent of compute, positive where loss falls."""
        pick_Z, noise_Z, _ = _draws(self.weight_G)
        return Prediction.of(-(self.slope_G[pick_Z] + np.sqrt(self.cov_G[1])[pick_Z] * noise_Z))


def fit_posterior(points: Points, options: PosteriorOptions) -> Posterior:
    """Every law asymptote + A · FLOPs^−exponent weighed by how well it explains the rungs.

    Given asymptote and residual the regression is closed; its marginal likelihood (flat in intercept and
    slope, density of log loss) times the priors is the weight. A rung's variance is the residual's plus
    the seeds' over their number, so known seed noise is a floor that the fit cannot argue away.

    Raises: RefusedError with fewer than three rungs.
    """
    if len(points.loss_R) < 3:
        raise RefusedError(
            f"a forecast with an interval needs three rungs, got {len(points.loss_R)}: train one more size"
        )
    asymptote_G, residual_var_G, log_prior_G = _grid(points, options)
    loss_R, x_R = points.loss_R, np.log(points.flops_R) - np.log(points.flops_R).mean()
    y_GR = np.log(loss_R - asymptote_G[:, None])
    var_GR = residual_var_G[:, None] + points.seed_sd_frac**2 / points.num_seeds_R
    weight_GR = (1 - asymptote_G[:, None] / loss_R) ** 2 / var_GR
    w_G, wx_G, wxx_G = weight_GR.sum(1), weight_GR @ x_R, weight_GR @ x_R**2
    wy_G, wxy_G = (weight_GR * y_GR).sum(1), (weight_GR * y_GR) @ x_R
    det_G = w_G * wxx_G - wx_G**2
    slope_G = (w_G * wxy_G - wx_G * wy_G) / det_G
    intercept_G = (wxx_G * wy_G - wx_G * wxy_G) / det_G
    misfit_GR = y_GR - intercept_G[:, None] - slope_G[:, None] * x_R
    log_weight_G = log_prior_G - 0.5 * (np.log(var_GR).sum(1) + np.log(det_G) + (weight_GR * misfit_GR**2).sum(1))
    weight_G = np.exp(log_weight_G - log_weight_G.max())
    cov_G = (wxx_G / det_G, w_G / det_G, -wx_G / det_G)
    return Posterior(
        options, points, weight_G / weight_G.sum(), asymptote_G, residual_var_G, intercept_G, slope_G, cov_G
    )


def _grid(points: Points, options: PosteriorOptions) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Asymptote and residual variance at every grid point, and the logarithm of their prior there."""
    smallest = float(points.loss_R.min())
    mean, sd = options.asymptote.in_loss_units(smallest)
    low, high = max(0.0, mean - 4 * sd), min(0.97 * smallest, mean + 4 * sd)
    if low >= high:
        raise RefusedError(
            f"the prior on the asymptote, {mean:g} ± {sd:g}, lies above the smallest loss {smallest:g}: another unit?"
        )
    asymptote_1 = np.linspace(low, high, options.num_asymptotes)
    log_var_1 = np.linspace(np.log(1e-8), np.log(1e-2), options.num_residuals)  # 0.01 % to 10 % of the loss
    asymptote_G, log_var_G = (a.ravel() for a in np.meshgrid(asymptote_1, log_var_1, indexing="ij"))
    residual_var_G = np.exp(log_var_G)
    log_prior_G = -0.5 * ((asymptote_G - mean) / sd) ** 2  # the grid is even in log variance: one factor of it cancels
    log_prior_G -= options.residual_shape * log_var_G + options.residual_scale / residual_var_G
    return asymptote_G, residual_var_G, log_prior_G


def _draws(weight_G: FloatArray) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Grid points in proportion to their weight, with two standard normals each: a fixed Hammersley-like set."""
    index_Z = np.arange(NUM_DRAWS)
    golden = 1.32471795724474602596  # root of x³ = x + 1: the even two-dimensional sequence
    first_Z, second_Z = ((0.5 + (index_Z + 1) / golden**k) % 1.0 for k in (1, 2))
    cumulative_G = np.cumsum(weight_G)
    pick_Z = np.searchsorted(cumulative_G, (index_Z + 0.5) / NUM_DRAWS * cumulative_G[-1])
    return pick_Z, ndtri(first_Z), ndtri(second_Z)
