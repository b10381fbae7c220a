"""The report's pictures: what is drawn is the data, labels do not collide, and a half-trained hero is drawn so far."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from fanal.ladder.forecast import forecast
from fanal.page.ink import AMBER, BLUE, house_style
from fanal.page.pictures import Curve, Story, curve_picture, ladder_picture
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from tests.worlds.ladder import fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)
PULSE, FULL = DOCUMENT["metrics"][PULSE_MACRO], DOCUMENT["metrics"][FULL_MACRO]


def curve(run_id: str, until: float = 1.0) -> Curve:
    run = next(run for run in LADDER.plan.runs if run.run == run_id)
    steps = [step for step in run.pulse_steps if step <= until * run.num_steps]
    return Curve(run_id, [s / run.num_steps for s in steps], [LADDER.loss(run, s / run.num_steps) for s in steps])


def story(until: float = 1.0) -> Story:
    rungs = [curve(name) for name in ("d16", "d20", "d24", "d32")]
    end = LADDER.loss(LADDER.plan.hero, 1.0) if until == 1 else None
    return Story(DOCUMENT, PULSE_MACRO, curve("hero", until), rungs, (0.75,), end)


def texts(picture: Figure) -> str:
    return "\n".join(text.get_text() for text in picture.findobj(Text))


def drawn(picture: Figure, color: str) -> list[np.ndarray]:
    return [line.get_xydata() for axes in picture.axes for line in axes.lines if line.get_color() == color]  # type: ignore[misc]


def test_hero_and_median_are_drawn_point_by_point() -> None:
    with house_style():
        picture = curve_picture(story())
    hero = curve("hero")
    assert any(np.array_equal(line, np.c_[hero.shares, hero.losses]) for line in drawn(picture, AMBER))
    assert any(np.array_equal(line, np.c_[PULSE["progress"], PULSE["p50"]]) for line in drawn(picture, BLUE))


def test_the_strip_shows_measured_minus_foretold() -> None:
    with house_style():
        picture = curve_picture(story())
    heights = [bar.get_height() for bar in picture.axes[1].patches]  # type: ignore[attr-defined]
    hero = curve("hero")
    assert heights == pytest.approx(np.array(hero.losses[1:]) - np.array(PULSE["p50"]), abs=1e-9)


def test_every_line_has_its_label() -> None:
    with house_style():
        found = texts(curve_picture(story()))
    for name in (
        "d16 · ",
        "d32 · ",
        f"foretold {PULSE['p50'][-1]:.3f}",
        "hero ",
        "mixture changes",
        "Measured − foretold",
    ):
        assert name in found


def test_a_hero_in_training_is_drawn_so_far_and_has_no_end_label() -> None:
    with house_style():
        curves, ladder = (texts(make(story(0.4))) for make in (curve_picture, ladder_picture))
    assert "hero " not in curves
    assert "measured" not in ladder
    assert f"foretold {FULL['p50'][-1]:.3f}" in ladder


def test_a_hero_that_has_not_begun_is_no_error() -> None:
    waiting = Story(DOCUMENT, PULSE_MACRO, Curve("hero", [], []), [], ())
    with house_style():
        assert "foretold" in texts(curve_picture(waiting))


def test_the_ladder_shows_every_rung_the_line_and_the_measurement() -> None:
    with house_style():
        found = texts(ladder_picture(story()))
    for name in (
        "d16 · ",
        "d20 · ",
        "d24 · ",
        "d32 · ",
        "line, asymptote 1.5: ",
        "measured ",
        "FLOPs of training, without the head",
    ):
        assert name in found
