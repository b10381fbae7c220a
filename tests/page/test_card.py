"""The result card: its size, its words, hit and miss alike, and the same bytes for the same result."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from fanal.ladder.forecast import forecast
from fanal.ladder.score import summarise
from fanal.page.card import HEIGHT_PX, WIDTH_PX, result_card
from fanal.page.ink import house_style, save
from fanal.page.pictures import Curve, Story
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from tests.worlds.ladder import fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)
P10, P50, P90 = (DOCUMENT["metrics"][FULL_MACRO][name][0] for name in ("p10", "p50", "p90"))


def story(measured: float) -> Story:
    return Story(DOCUMENT, PULSE_MACRO, Curve("hero", [0.5, 1.0], [4.0, measured]), (), (), measured)


def summary(measured: float, *, sealed: bool = True) -> dict[str, Any]:
    return summarise(DOCUMENT, measured, sealed_before_step_0=sealed, seconds={})


def words(measured: float, *, sealed: bool = True, title: str = "Tiny") -> str:
    with house_style():
        card = result_card(story(measured), summary(measured, sealed=sealed), title)
        return "\n".join(text.get_text() for text in card.findobj(Text))


def test_the_card_is_1200_by_630(tmp_path: Path) -> None:
    with house_style():
        save(result_card(story(P50), summary(P50), "Tiny"), tmp_path / "card.png")
    assert imread(tmp_path / "card.png").shape[:2] == (HEIGHT_PX, WIDTH_PX) == (630, 1200)
    assert [path.name for path in tmp_path.iterdir()] == ["card.png"], "nothing half-written stays"


def test_foretold_measured_and_interval_are_on_it() -> None:
    text = words(P50 - 0.01)
    assert f"Foretold {P50:.3f}" in text
    assert f"Measured {P50 - 0.01:.3f}" in text
    assert f"Inside the 80\u00a0% interval {P10:.3f} to {P90:.3f}" in text
    assert "sealed before its first step" in " ".join(text.split("\n"))


def test_a_miss_is_told_like_a_hit() -> None:
    hit, miss = words(P50), words(P90 + 0.1)
    assert "Outside the 80\u00a0% interval" in miss
    assert len(hit.splitlines()) == len(miss.splitlines())


@pytest.mark.parametrize("measured", [1.0, 3.0, 5.0])
def test_it_always_says_that_an_honest_interval_misses(measured: float) -> None:
    assert "An honest 80\u00a0% interval misses one time in five." in words(measured)


def test_a_late_forecast_is_called_late() -> None:
    assert "not sealed before its first step" in " ".join(words(P50, sealed=False).split("\n"))


def test_a_hero_without_gain_has_no_share_of_it() -> None:
    assert "The hero is no better than the largest small model." in words(5.0)


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        with house_style():
            save(result_card(story(P50), summary(P50), "Tiny"), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_any_title_fits_and_odd_letters_are_drawn(tmp_path: Path) -> None:
    title = "Σ→≤ лестница " * 20
    assert any(line.endswith(" …") for line in words(P50, title=title).splitlines())
    with house_style():
        save(result_card(story(P50), summary(P50), title), tmp_path / "card.png")


def test_a_record_outside_a_campaign_has_a_card_without_fingerprint() -> None:
    made = copy.deepcopy(summary(P50))
    made["fingerprint"] = None
    with house_style():
        card = result_card(replace(story(P50)), made, "Tiny")
    assert "campaign" not in "\n".join(text.get_text() for text in card.findobj(Text))
