"""The chart habits: labels apart, files whole or absent, colours those of the page's light theme."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from fanal.page.ink import AMBER, BLUE, INK, PAPER, canvas, house_style, save, spread, words

STYLE = Path(__file__).parents[2] / "fanal" / "page" / "web"


@pytest.mark.parametrize("wanted", [[0.0, 0.0, 0.0], [5.0, 1.0, 1.5, 30.0], [10.0, 20.0], [3.0], []])
def test_labels_are_moved_apart_and_keep_their_order(wanted: list[float]) -> None:
    placed = spread(wanted, 4.0)
    assert all(b - a >= 4.0 - 1e-9 for a, b in pairwise(sorted(placed)))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert [placed[i] for i in order] == sorted(placed)
    if all(b - a >= 4.0 for a, b in pairwise(sorted(wanted))):
        assert placed == wanted


def test_a_picture_of_the_same_data_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        with house_style():
            picture = canvas(300, 100)
            words(picture, (10, 40), "Loss, nats per token")
            save(picture, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_picture_is_written_whole_into_a_new_folder_and_nothing_beside_it(tmp_path: Path) -> None:
    with house_style():
        save(canvas(100, 100), tmp_path / "new" / "empty.png")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["empty.png"]


def test_colours_are_those_of_the_pages_light_theme() -> None:
    sheets = " ".join(path.read_text("utf-8") for path in sorted(STYLE.glob("*.css"))).lower()
    assert sheets, "the page has a style sheet"
    known = set(re.findall(r"#[0-9a-f]{6}", sheets))
    assert {PAPER, INK, AMBER, BLUE} <= known
