"""Pictures are set in the page's own letters, in two weights that never take each other's shapes."""

import re
from pathlib import Path

from matplotlib.font_manager import FontProperties, findfont, get_font

from fanal.page.fonts import REGULAR, SEMIBOLD, families
from fanal.page.ink import canvas, house_style, save, words


def test_each_weight_is_a_font_of_its_own_with_its_own_postscript_name() -> None:
    found = [get_font(findfont(FontProperties(family=families()[0], weight=weight))) for weight in (REGULAR, SEMIBOLD)]
    assert all(font.family_name == families()[0] for font in found)
    assert len({font.postscript_name for font in found}) == 2


def test_the_same_letters_in_two_weights_are_different_shapes_in_an_svg(tmp_path: Path) -> None:
    with house_style():
        picture = canvas(200, 100)
        words(picture, (10, 40), "Loss")
        words(picture, (10, 80), "Loss", fontweight="semibold")
        text = save(picture, tmp_path / "both.svg").read_text("utf-8")
    shapes = re.findall(r'<path id="([^"]+)"', text)
    assert len(shapes) == len(set(shapes)) == 2 * len(set("Loss"))


def test_families_are_made_once_a_process() -> None:
    assert families() is families()
