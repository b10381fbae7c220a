"""The report's two pictures: the hero against its sealed forecast over progress, and the ladder in log-log.

Guarantees: what is drawn is in the document or the record; the forecast is a dashed median and a band,
the hero points and a line, the rungs faint; labels stand at the lines. Cost: about half a second each.
Does not: scale with the window (the page draws its own), or show a forecast after the fact.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (matplotlib ships partial types)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from fanal.ladder.fit import FloatArray
from fanal.page.ink import (
    AMBER,
    AMBER_INK,
    BAND_ALPHA,
    BLUE,
    GHOST,
    INK,
    INK_2,
    INK_3,
    PX,
    RULE_2,
    base_line,
    canvas,
    label,
    place,
    spread,
    words,
)
from fanal.page.words import NBSP, signed
from fanal.page.words import figure as number

Json = Any

TEXT_PX, LARGE_PX = 13, 17


@dataclass(frozen=True)
class Curve:
    """One run's losses by share of its run."""

    name: str
    shares: Sequence[float]
    losses: Sequence[float]


@dataclass(frozen=True)
class Story:
    """What the pictures are drawn from."""

    document: Mapping[str, Json]
    """The sealed forecast."""
    metric: str
    """Of the curves."""
    hero: Curve
    rungs: Sequence[Curve]
    """Smallest first, one a size."""
    phase_ends: Sequence[float] = ()
    """Shares of the run at which the mixture changes."""
    end_loss: float | None = None
    """The headline metric, measured at the end; None while the hero trains."""


def curve_picture(story: Story) -> Figure:
    """Loss over progress with the sealed band, and measured minus foretold below."""
    picture = canvas(1216, 640)
    low, high = _loss_range(story)
    axes = place(picture, (56, 56, 984, 380))
    axes.set(xlim=(0, 1), ylim=(low, high))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    words(picture, (56, 28), _quantity(story.document, story.metric), color=INK_2)
    base_line(axes)
    _share_ticks(axes)
    _phases(axes, story.phase_ends, named=True)
    _curves(axes, story)
    _end_labels(axes, story)
    _names(axes, story)
    strip = place(picture, (56, 512, 984, 84))
    words(picture, (56, 492), "Measured − foretold", color=INK_2)
    _strip(strip, story)
    return picture


def ladder_picture(story: Story) -> Figure:
    """Loss at the end against compute: rungs, the forecast's path with its band, the lines, the hero."""
    picture = canvas(1216, 560)
    words(
        picture,
        (56, 28),
        f"{_quantity(story.document, story.document['headline'])}, at the end of each run; both axes logarithmic",
        color=INK_2,
    )
    ladder_axes(place(picture, (56, 56, 940, 430)), story, detailed=True)
    words(picture, (996, 540), "FLOPs of training, " + _convention(story.document), ha="right", color=INK_3)
    return picture


def ladder_axes(axes: Axes, story: Story, *, detailed: bool) -> None:
    """Draw the ladder into `axes`; `detailed` tells the rungs' losses and draws the line as well, else larger type."""
    size_px = TEXT_PX if detailed else LARGE_PX
    axes.tick_params(labelsize=size_px * PX)
    document, metric = story.document, story.document["metrics"][story.document["headline"]]
    convention, path = document["compute"]["convention"], metric["path"]
    flops = np.array(path["flops"])
    axes.set(xscale="log", yscale="log")
    axes.fill_between(flops, path["p10"], path["p90"], color=BLUE, alpha=BAND_ALPHA, linewidth=0)
    axes.plot(flops, path["p50"], color=BLUE, linewidth=1.5 * PX, dashes=(5, 3))
    losses = [rung["losses"][document["headline"]] for rung in document["rungs"]]
    at = [rung["flops"][convention] for rung in document["rungs"]]
    for x, seeds in zip(at, losses, strict=True):
        axes.plot([x] * len(seeds), seeds, "o", markersize=4 * PX, color=GHOST, markeredgewidth=0, zorder=3)
    means = [sum(seeds) / len(seeds) for seeds in losses]
    axes.plot(at, means, "o", markersize=8 * PX, color=INK, markeredgewidth=0, zorder=4)
    for rung, x, y in zip(document["rungs"], at, means, strict=True):
        text = f"{rung['name']} · {number(y, 3)}" if detailed else rung["name"]
        label(axes, (x, y), text, offset_px=(8, 11), color=INK_2, halo=True, size_px=size_px)
    extremes = [*means, metric["p10"][-1], metric["p90"][-1], *([] if story.end_loss is None else [story.end_loss])]
    _log_ticks(axes, extremes, flops, size_px)
    _hero_end(axes, story, float(flops[-1]), detailed=detailed)


def _hero_end(axes: Axes, story: Story, x: float, *, detailed: bool) -> None:
    metric = story.document["metrics"][story.document["headline"]]
    p10, p50, p90 = (metric[name][-1] for name in ("p10", "p50", "p90"))
    axes.plot([x, x], [p10, p90], color=BLUE, linewidth=3 * PX, solid_capstyle="butt", zorder=4, clip_on=False)
    entries = [(p50, f"foretold {number(p50, 3)}", BLUE, "semibold")]
    entries += [(p10, number(p10, 3), INK_3, "normal"), (p90, number(p90, 3), INK_3, "normal")]
    drawn = metric["path"]["line"]
    if detailed and drawn:
        axes.plot(metric["path"]["flops"], drawn, color=GHOST, linewidth=1.25 * PX, zorder=2)
        entries.append((drawn[-1], f"line, asymptote 1.5: {number(drawn[-1], 3)}", INK_3, "normal"))
    if story.end_loss is not None:
        axes.plot(
            [x],
            [story.end_loss],
            "o",
            markersize=11 * PX,
            color=AMBER,
            markeredgecolor="white",
            markeredgewidth=1.5 * PX,
            zorder=6,
            clip_on=False,
        )
        entries.append((story.end_loss, f"measured {number(story.end_loss, 3)}", AMBER_INK, "semibold"))
    _stack(axes, x, entries, TEXT_PX if detailed else LARGE_PX)


def _stack(axes: Axes, x: float, entries: Sequence[tuple[float, str, str, str]], size_px: float = TEXT_PX) -> None:
    """Labels right of `x`, each at its height unless another is too near."""
    heights = [float(axes.transData.transform((x, y))[1]) for y, *_ in entries]
    for (y, text, color, weight), height, moved in zip(entries, heights, spread(heights, 1.3 * size_px), strict=True):
        label(axes, (x, y), text, offset_px=(14, moved - height), color=color, fontweight=weight, size_px=size_px)


def _curves(axes: Axes, story: Story) -> None:
    foretold = story.document["metrics"][story.metric]
    axes.fill_between(foretold["progress"], foretold["p10"], foretold["p90"], color=BLUE, alpha=BAND_ALPHA, linewidth=0)
    axes.plot(foretold["progress"], foretold["p50"], color=BLUE, linewidth=1.5 * PX, dashes=(5, 3), zorder=3)
    for rung in story.rungs:
        axes.plot(rung.shares, rung.losses, color=GHOST, linewidth=1.25 * PX, zorder=2)
    axes.plot(story.hero.shares, story.hero.losses, color=AMBER, linewidth=2 * PX, zorder=4)
    axes.plot(story.hero.shares, story.hero.losses, "o", color=AMBER, markersize=5 * PX, markeredgewidth=0, zorder=5)


def _end_labels(axes: Axes, story: Story) -> None:
    foretold = story.document["metrics"][story.metric]
    p10, p50, p90 = (foretold[name][-1] for name in ("p10", "p50", "p90"))
    done = story.hero.shares[-1] >= 1 if story.hero.shares else False
    entries = [
        (rung.losses[-1], f"{rung.name} · {number(rung.losses[-1], 3)}", INK_3, "normal") for rung in story.rungs
    ]
    entries += [
        (p10, number(p10, 3), INK_3, "normal"),
        (p90, number(p90, 3), INK_3, "normal"),
        (p50, f"foretold {number(p50, 3)}", BLUE, "semibold"),
    ]
    if done:
        entries.append((story.hero.losses[-1], f"hero {number(story.hero.losses[-1], 3)}", AMBER_INK, "semibold"))
    _stack(axes, 1.0, entries)


def _names(axes: Axes, story: Story) -> None:
    """What the band and the faint lines are, in free ground."""
    foretold = story.document["metrics"][story.metric]
    under = float(np.interp(0.2, foretold["progress"], foretold["p10"]))
    middle = (axes.get_ylim()[0] + under) / 2
    label(axes, (0.1, middle), "Sealed forecast, median", offset_px=(0, 9), color=BLUE, fontweight="semibold")
    label(axes, (0.1, middle), f"and 80{NBSP}% band", offset_px=(0, -9), color=INK_3)
    if story.rungs:
        smallest = story.rungs[0]
        at = float(np.interp(0.81, smallest.shares, smallest.losses))
        label(axes, (0.99, at), "smaller runs at equal progress", offset_px=(0, 10), ha="right", color=INK_3)


def _strip(axes: Axes, story: Story) -> None:
    foretold = story.document["metrics"][story.metric]
    start = foretold["progress"][0]
    shares = np.array([s for s in story.hero.shares if s >= start - 1e-9])
    measured = np.array([y for s, y in zip(story.hero.shares, story.hero.losses, strict=True) if s >= start - 1e-9])
    off = measured - np.interp(shares, foretold["progress"], foretold["p50"])
    half = [np.array(foretold[name]) - np.array(foretold["p50"]) for name in ("p10", "p90")]
    axes.fill_between(foretold["progress"], half[0], half[1], color=BLUE, alpha=BAND_ALPHA, linewidth=0)
    axes.bar(shares, off, width=0.006, color=AMBER, zorder=3, clip_on=False)
    axes.axhline(0, color=RULE_2, linewidth=1 * PX, zorder=2)
    reach = float(max(np.abs(off).max(initial=0), np.abs(np.array(half)).max())) * 1.1
    axes.set(xlim=(0, 1), ylim=(-reach, reach))
    axes.yaxis.set_major_locator(MaxNLocator(3, symmetric=True))
    axes.tick_params(axis="x", labelbottom=False)
    _share_ticks(axes)
    axes.set_xticklabels([])
    _phases(axes, story.phase_ends, named=False)
    if len(off):
        label(
            axes,
            (float(shares[-1]), float(off[-1])),
            signed(float(off[-1]), 3),
            offset_px=(14, 0),
            color=AMBER_INK,
            fontweight="semibold",
        )


def _phases(axes: Axes, ends: Sequence[float], *, named: bool) -> None:
    for end in ends:
        axes.axvline(end, color=RULE_2, linewidth=1 * PX, linestyle=(0, (1, 3)), zorder=1)
        if named:
            label(
                axes,
                (end, axes.get_ylim()[1]),
                "mixture changes",
                offset_px=(-6, -8),
                ha="right",
                color=INK_3,
                halo=True,
            )


def _share_ticks(axes: Axes) -> None:
    at = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    axes.xaxis.set_major_locator(FixedLocator(at))
    axes.xaxis.set_major_formatter(
        FixedFormatter([*(f"{100 * a:.0f}{NBSP}%" for a in at[:-1]), f"100{NBSP}% of the run"])
    )


def _log_ticks(axes: Axes, losses: Sequence[float], flops: FloatArray, size_px: float) -> None:
    low, high = min(losses), max(losses)
    axes.set(ylim=(low / 1.03, high * 1.03), xlim=(flops[0] / 1.35, flops[-1]))
    ticks = [t for t in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low, high) if low / 1.03 <= t <= high * 1.03]
    axes.yaxis.set(
        major_locator=FixedLocator(ticks),
        major_formatter=FixedFormatter([number(t, 1) for t in ticks]),
        minor_locator=NullLocator(),
    )
    powers = range(int(np.ceil(np.log10(flops[0] / 1.35))), int(np.log10(flops[-1])) + 1)
    axes.xaxis.set(
        major_locator=FixedLocator([10.0**p for p in powers]),
        major_formatter=FixedFormatter([""] * len(powers)),
        minor_locator=NullLocator(),
    )
    base_line(axes)
    for p in powers:
        foot = (10.0**p, axes.get_ylim()[0])
        label(axes, foot, "10", offset_px=(0, -1.25 * size_px), ha="right", size_px=size_px)
        label(axes, foot, str(p), offset_px=(0.5, -0.85 * size_px), size_px=0.73 * size_px)


def _loss_range(story: Story) -> tuple[float, float]:
    """From below the band's end to above the smallest rung's end; what lies higher leaves the picture at the top."""
    foretold = story.document["metrics"][story.metric]
    low = min(foretold["p10"][-1], *(story.hero.losses or foretold["p50"]))
    high = max([curve.losses[-1] for curve in story.rungs] + [foretold["p90"][-1]])
    return low - 0.08 * (high - low), high + 0.35 * (high - low)


def _quantity(document: Mapping[str, Json], metric: str) -> str:
    unit = document["metrics"][metric]["unit"]
    return f"Loss, {unit['kind']} · held-out text, mean over domains ({unit['eval_set']})"


def _convention(document: Mapping[str, Json]) -> str:
    return "without the head" if document["compute"]["convention"] == "flops" else "with the head"
