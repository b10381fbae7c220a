"""The methods: exact on exact laws, equal to an independent integration, calibrated where their assumptions hold."""

import time

import numpy as np
import pytest
from scipy import stats

from fanal.errors import RefusedError
from fanal.ladder.fit import (
    NATS,
    RELATIVE,
    AsymptotePrior,
    Points,
    PosteriorOptions,
    fit_last_two,
    fit_line,
    fit_posterior,
)

# The public Marin 535B ladder at the end of its runs: FLOPs without the head, losses (paloma macro); d2048 was
# completed by extrapolation. marin-community/marin#8435 and fudan-chen/pretrain, data/ladder_eval_grid.json.
MARIN_FLOPS = (2.649679880270119e19, 1.7261182741798453e20, 1.3813258500033133e21, 7.741814947656449e21)
MARIN_LOSS = (3.015353202819824, 2.780874729156494, 2.5637738704681396, 2.4087081241607655)
MARIN_HERO_FLOPS = 2.6108941613772703e24
MARIN_HIDDEN = (768, 1024, 1536, 2048, 6144)
MARIN_TOKENS = (47898951680, 128144375808, 380708585472, 926068768768, 18005144633344)
MARIN_VOCAB = 128256


def points(flops: object, loss: object, seeds: object = None, seed_sd_frac: float = 0.0) -> Points:
    flops_R, loss_R = np.array(flops, float), np.array(loss, float)
    return Points(flops_R, loss_R, np.ones_like(loss_R) if seeds is None else np.array(seeds, float), seed_sd_frac)


def law(flops: object, E: float = 2.0, alpha: float = 0.15) -> np.ndarray:
    return E + 40 * np.array(flops, float) ** -alpha


FLOPS = (2.2e10, 5e10, 9.8e10, 2.9e11)
HERO = 1.34e12


def test_the_line_is_exact_on_a_ladder_with_its_asymptote() -> None:
    line = fit_line(points(FLOPS, law(FLOPS, 1.5)), 1.5)
    assert line.predict(HERO).p50 == pytest.approx(law(HERO, 1.5), rel=1e-12)
    assert line.slope == pytest.approx(-0.15, rel=1e-9)


def test_the_lines_interval_is_the_textbooks() -> None:
    loss = law(FLOPS, 1.5) * np.array([1.003, 0.998, 1.001, 0.999])
    x, y = np.log(FLOPS), np.log(loss - 1.5)
    fitted = stats.linregress(x, y)
    residual = np.sqrt(((y - fitted.intercept - fitted.slope * x) ** 2).sum() / 2)
    sd = residual * np.sqrt(1 + 1 / 4 + (np.log(HERO) - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    mean = fitted.intercept + fitted.slope * np.log(HERO)
    expected = [1.5 + np.exp(mean + sd * stats.t.ppf(q, 2)) for q in (0.1, 0.5, 0.9)]
    found = fit_line(points(FLOPS, loss), 1.5).predict(HERO).quantiles
    assert [found[q] for q in ("p10", "p50", "p90")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("asymptote", "foretold"), [(1.3, 2.0084), (1.4, 2.0227), (1.5, 2.0388), (1.6, 2.0571), (1.7, 2.0782)]
)
def test_a_fixed_asymptote_is_an_argument_that_moves_the_answer(asymptote: float, foretold: float) -> None:
    line = fit_line(points(MARIN_FLOPS, MARIN_LOSS), asymptote)
    assert line.predict(MARIN_HERO_FLOPS).p50 == pytest.approx(foretold, abs=5e-5)


def test_the_textbook_interval_of_a_line_is_narrower_than_its_doubt_about_the_asymptote() -> None:
    quantiles = fit_line(points(MARIN_FLOPS, MARIN_LOSS), 1.5).predict(MARIN_HERO_FLOPS).quantiles
    assert (quantiles["p10"], quantiles["p90"]) == pytest.approx((2.0358, 2.0418), abs=5e-5)
    for prior in (NATS, RELATIVE):
        posterior = fit_posterior(points(MARIN_FLOPS, MARIN_LOSS), PosteriorOptions(prior)).predict(MARIN_HERO_FLOPS)
        assert posterior.quantiles["p10"] == pytest.approx(1.985, abs=0.004)
        assert posterior.quantiles["p90"] == pytest.approx(2.098, abs=0.012)


def test_counting_the_head_moves_the_answer_as_published() -> None:
    head = [6.0 * MARIN_VOCAB * h * t for h, t in zip(MARIN_HIDDEN, MARIN_TOKENS, strict=True)]
    flops = [c + h for c, h in zip((*MARIN_FLOPS, MARIN_HERO_FLOPS), head, strict=True)]
    ratios = [f / c for f, c in zip(flops, (*MARIN_FLOPS, MARIN_HERO_FLOPS), strict=True)]
    assert ratios == pytest.approx([2.07, 1.59, 1.33, 1.19, 1.03], abs=0.006)
    foretold = fit_line(points(flops[:4], MARIN_LOSS), 1.5).predict(flops[4]).p50
    assert foretold == pytest.approx(2.0151, abs=5e-5)


def test_last_two_rungs_is_a_point_on_the_straight_line_through_them() -> None:
    found = fit_last_two(points((1.0, 10.0, 100.0), (9.0, 4.0, 2.0))).predict(1000.0)
    assert found.quantiles == pytest.approx({"p50": 1.0})


def options_with(prior: AsymptotePrior) -> PosteriorOptions:
    return PosteriorOptions(prior, misfit_per_decade=0.0)


def brute_force_quantiles(data: Points, options: PosteriorOptions, flops: float) -> list[float]:
    """The same model integrated on a plain grid over all four unknowns, loss noise simulated, nothing conjugate."""
    mean, sd = options.asymptote.in_loss_units(float(data.loss_R.min()))
    x_R, rng = np.log(data.flops_R / data.flops_R.mean()), np.random.default_rng(0)
    E, log_s, a, b = (
        g.ravel()
        for g in np.meshgrid(
            np.linspace(max(0.0, mean - 3.5 * sd), min(0.97 * data.loss_R.min(), mean + 3.5 * sd), 41),
            np.linspace(np.log(3e-4), np.log(3e-2), 21),
            np.linspace(-0.08, 0.08, 41),
            np.linspace(-0.08, 0.08, 41),
            indexing="ij",
        )
    )
    centre = [np.polyfit(x_R, np.log(data.loss_R - e), 1) for e in np.unique(E)]
    b, a = (grid + np.repeat([c[i] for c in centre], len(E) // len(centre)) for i, grid in ((0, b), (1, a)))
    log_post = -0.5 * ((E - mean) / sd) ** 2
    log_post -= 2 * options.residual_shape * log_s + options.residual_scale / np.exp(2 * log_s)
    for x, loss, seeds in zip(x_R, data.loss_R, data.num_seeds_R, strict=True):
        gap = loss - E  # density of the log loss; in the transformed variable the noise is that of the observed rung
        scale = np.sqrt(np.exp(2 * log_s) + data.seed_sd_frac**2 / seeds)
        log_post -= 0.5 * ((np.log(gap) - a - b * x) / (scale * loss / gap)) ** 2 + np.log(scale)
    picked = rng.choice(len(E), 200_000, p=np.exp(log_post - log_post.max()) / np.exp(log_post - log_post.max()).sum())
    log_gap = a[picked] + b[picked] * np.log(flops / data.flops_R.mean())
    noise = np.sqrt(np.exp(2 * log_s[picked]) + data.seed_sd_frac**2) * (1 + E[picked] / np.exp(log_gap))
    return list(
        np.quantile(E[picked] + np.exp(log_gap + noise * rng.normal(size=len(picked))), (0.1, 0.25, 0.5, 0.75, 0.9))
    )


@pytest.mark.parametrize(("seed_sd_frac", "seeds"), [(0.0, (1, 1, 1, 1)), (0.008, (3, 3, 1, 1))])
def test_the_posterior_equals_a_plain_integration_over_all_its_unknowns(seed_sd_frac: float, seeds: object) -> None:
    data = points(FLOPS, law(FLOPS) * np.array([1.003, 0.998, 1.002, 0.999]), seeds, seed_sd_frac)
    options = options_with(RELATIVE)
    found = list(fit_posterior(data, options).predict(HERO).quantiles.values())
    expected = brute_force_quantiles(data, options, HERO)
    assert found == pytest.approx(expected, abs=0.04 * (expected[-1] - expected[0]))


def made_ladders(total: int, frac_mean: float, frac_sd: float, noise: float) -> tuple[float, float]:
    """Shares of made ladders whose hero lies inside the interval, and above its median.

    Asymptotes are `frac_mean` ± `frac_sd` of the smallest loss; the law itself is off as much as the method believes.
    """
    rng, inside, above = np.random.default_rng(5), 0, 0
    options = PosteriorOptions(num_asymptotes=60, num_residuals=25)
    for _ in range(total):
        alpha, frac = rng.uniform(0.08, 0.3), rng.normal(frac_mean, frac_sd)
        clean = 1 + (1 / frac - 1) * (np.array([*FLOPS, HERO]) / FLOPS[-1]) ** -alpha
        observed = clean * np.exp(noise * rng.normal(size=5))
        hero = observed[4] * np.exp(0.006 * np.log10(HERO / FLOPS[-1]) * rng.normal())
        quantiles = fit_posterior(points(FLOPS, observed[:4]), options).predict(HERO).quantiles
        inside += quantiles["p10"] <= hero <= quantiles["p90"]
        above += hero > quantiles["p50"]
    return inside / total, above / total


def test_an_80_percent_interval_holds_80_percent_of_ladders_drawn_from_the_priors() -> None:
    inside, above = made_ladders(400, 0.6, 0.08, float(np.sqrt(1e-5)))
    assert 0.74 <= inside <= 0.88
    assert 0.42 <= above <= 0.58


def test_far_from_its_prior_on_the_asymptote_the_interval_is_too_narrow_as_the_guide_says() -> None:
    inside, _ = made_ladders(150, 0.13, 0.0, 0.003)
    assert inside < 0.1


def width(data: Points, options: PosteriorOptions | None = None, flops: float = HERO) -> float:
    quantiles = fit_posterior(data, options or PosteriorOptions()).predict(flops).quantiles
    return quantiles["p90"] - quantiles["p10"]


def test_known_seed_noise_is_a_floor_that_a_smooth_ladder_cannot_argue_away() -> None:
    smooth = law(FLOPS)
    quiet, loud = (width(points(FLOPS, smooth, (3, 3, 1, 1), sd)) for sd in (0.0, 0.01))
    assert loud > 1.5 * quiet
    # one run's own noise alone is 2 · 1.2816 · 1 % of the loss wide
    assert loud > 2 * 1.2816 * 0.01 * law(HERO)


def test_more_seeds_narrow_the_interval() -> None:
    one, nine = (width(points(FLOPS, law(FLOPS), (k,) * 4, 0.01)) for k in (1, 9))
    assert nine < one


def test_misfit_grows_with_the_decades_of_extrapolation_and_has_a_floor() -> None:
    data, none = points(FLOPS, law(FLOPS)), PosteriorOptions(misfit_per_decade=0.0)
    added = [
        width(data, flops=f * FLOPS[-1]) ** 2 - width(data, none, f * FLOPS[-1]) ** 2 for f in (1.0001, 3.0, 100.0)
    ]
    assert added[0] == pytest.approx(added[1], rel=0.2)
    assert added[2] > 4 * added[1]


def test_the_same_points_give_the_same_bits() -> None:
    data = points(FLOPS, law(FLOPS), (3, 3, 1, 1), 0.01)
    assert (
        fit_posterior(data, PosteriorOptions()).predict(HERO).quantiles
        == fit_posterior(data, PosteriorOptions()).predict(HERO).quantiles
    )


def test_the_quantiles_do_not_depend_on_the_unit_of_compute_or_of_a_relative_loss() -> None:
    base = fit_posterior(points(FLOPS, law(FLOPS)), PosteriorOptions()).predict(HERO).quantiles
    flops = fit_posterior(points([c * 7.0 for c in FLOPS], law(FLOPS)), PosteriorOptions()).predict(HERO * 7).quantiles
    loss = fit_posterior(points(FLOPS, law(FLOPS) * 0.35), PosteriorOptions()).predict(HERO).quantiles
    assert list(flops.values()) == pytest.approx(list(base.values()), rel=1e-9)
    assert list(loss.values()) == pytest.approx([0.35 * v for v in base.values()], rel=1e-9)


def test_quantiles_ascend_and_are_those_of_the_draws() -> None:
    found = fit_posterior(points(FLOPS, law(FLOPS)), PosteriorOptions()).predict(HERO)
    assert list(found.quantiles) == ["p10", "p25", "p50", "p75", "p90"]
    assert list(found.quantiles.values()) == sorted(found.quantiles.values())
    assert found.p50 == pytest.approx(np.median(found.draws_Z))


def test_asymptote_and_exponent_are_reported_with_their_doubt() -> None:
    fit = fit_posterior(points(FLOPS, law(FLOPS)), PosteriorOptions())
    assert fit.asymptote().quantiles["p10"] < 2.0 < fit.asymptote().quantiles["p90"]
    assert fit.exponent().quantiles["p10"] < 0.15 < fit.exponent().quantiles["p90"]


@pytest.mark.parametrize(
    ("flops", "loss", "says"),
    [
        ((1e10, 2e10), (4.0, 3.9), "needs three rungs, got 2"),
        ((1e10, 1e10, 2e10), (4.0, 3.9, 3.8), "differ in compute"),
        ((2e10, 1e10, 3e10), (4.0, 3.9, 3.8), "ascending"),
        ((1e10, 2e10, 3e10), (4.0, float("nan"), 3.8), "finite and positive"),
        ((1e10, -2e10, 3e10), (4.0, 3.9, 3.8), "finite and positive"),
    ],
)
def test_a_ladder_that_carries_no_forecast_is_refused(flops: object, loss: object, says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        fit_posterior(points(flops, loss), PosteriorOptions())


def test_a_line_whose_asymptote_lies_above_a_loss_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"asymptote 1.5 must lie below the smallest loss 1.4"):
        fit_line(points((1.0, 2.0), (2.0, 1.4)), 1.5)


def test_a_prior_of_another_unit_is_refused() -> None:
    with pytest.raises(RefusedError, match="another unit"):
        fit_posterior(points(FLOPS, law(FLOPS) * 0.1), PosteriorOptions(NATS))


def test_a_posterior_and_a_prediction_take_milliseconds() -> None:
    data = points(FLOPS, law(FLOPS))
    fit_posterior(data, PosteriorOptions()).predict(HERO)
    begun = time.process_time()
    for _ in range(10):
        fit_posterior(data, PosteriorOptions()).predict(HERO)
    assert time.process_time() - begun < 1.0
