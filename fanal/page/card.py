"""The result card: one picture of 1200 × 630 that says what was foretold, what was measured and where it fell.

Guarantees: every word and figure is in the summary or the sealed document, hit and miss are set alike,
and the card says that an honest interval misses. Cost: about half a second. Does not: praise.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (matplotlib ships partial types)

import textwrap
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fanal.page.ink import INK, INK_2, INK_3, PX, RULE, canvas, place, words
from fanal.page.pictures import Story, ladder_axes
from fanal.page.words import NBSP, figure, percent, plain, short, spelled

Json = Any

WIDTH_PX, HEIGHT_PX = 1200, 630
_LEFT, _COLUMN_CHARS, _TITLE_CHARS = 56, 52, 60


def result_card(story: Story, summary: Mapping[str, Json], title: str) -> Figure:
    """The card of a finished campaign."""
    card = canvas(WIDTH_PX, HEIGHT_PX)
    hero, foretold = summary["hero"], summary["forecast"]
    words(card, (_LEFT, 72), textwrap.shorten(plain(title), _TITLE_CHARS, placeholder=" …"), size_px=21, color=INK_2)
    words(card, (_LEFT, 150), f"Foretold {figure(foretold['p50'], 3)}", size_px=40, color=INK)
    words(card, (_LEFT, 198), f"Measured {figure(hero['loss'], 3)}", size_px=40, color=INK, fontweight="semibold")
    words(
        card,
        (_LEFT, 240),
        f"{_place(summary)} the 80{NBSP}% interval {figure(foretold['p10'], 3)} to {figure(foretold['p90'], 3)}",
        size_px=21,
        color=INK,
    )
    below = _paragraph(card, 304, _told(summary))
    _paragraph(card, below + 16, _worth(summary))
    axes = place(card, (648, 104, 356, 404))
    words(card, (600, 72), f"Loss, {summary['unit']}, against FLOPs of training", size_px=17, color=INK_3)
    ladder_axes(axes, story, detailed=False)
    _foot(card, summary)
    return card


def _paragraph(card: Figure, top_px: int, text: str) -> int:
    """Lines of the left column from `top_px` on; returns where the next may begin."""
    wraps = (textwrap.wrap(text, chars) for chars in range(_COLUMN_CHARS, 20, -1))
    widest = next(wraps)
    lines = [widest, *takewhile(lambda wrap: len(wrap) == len(widest), wraps)][-1]  # no lone last word
    for i, line in enumerate(lines):
        words(card, (_LEFT, top_px + 28 * i), line, size_px=20, color=INK_2)
    return top_px + 28 * len(lines)


def _foot(card: Figure, summary: Mapping[str, Json]) -> None:
    card.add_artist(_hairline(card))
    words(card, (_LEFT, 594), f"An honest 80{NBSP}% interval misses one time in five.", size_px=17, color=INK_2)
    marks = f"forecast {summary['forecast']['sha256'][:12]}"
    if summary["fingerprint"]:
        marks += f" · campaign {summary['fingerprint'][:12]}"
    words(card, (WIDTH_PX - _LEFT, 594), marks, size_px=14, color=INK_3, ha="right")


def _place(summary: Mapping[str, Json]) -> str:
    return "Inside" if summary["hero"]["inside"] else "Outside"


def _told(summary: Mapping[str, Json]) -> str:
    """Who foretold whom, and when."""
    rungs, hero = summary["rungs"], summary["hero"]
    sealed = "sealed" if summary["forecast"]["sealed_before_step_0"] else "not sealed"
    smallest, largest, own = (short(run["params_active"]) for run in (rungs[0], rungs[-1], hero))
    return (
        f"{spelled(len(rungs)).capitalize()} small models of {smallest} to {largest} active parameters foretold one of "
        f"{own} that computes {hero['flops'] / rungs[-1]['flops']:.1f} times as much, {sealed} before its first step."
    )


def _worth(summary: Mapping[str, Json]) -> str:
    """Error and width in the one length that matters here."""
    gained = summary["rungs"][-1]["loss"] - summary["hero"]["loss"]
    if summary["skill"] is None:
        return "The hero is no better than the largest small model."
    return (
        f"The hero gained {figure(gained, 3)} over the largest of them: the error is {percent(1 - summary['skill'])} "
        f"of that gain, the interval {percent(summary['width_share'])} of it wide."
    )


def _hairline(card: Figure) -> Line2D:
    across = (_LEFT / WIDTH_PX, 1 - _LEFT / WIDTH_PX)
    return Line2D(across, (1 - 560 / HEIGHT_PX,) * 2, color=RULE, linewidth=1 * PX, transform=card.transFigure)
