"""The page's light colours and chart habits for matplotlib: paper, hairlines, labels at the lines, no frame.

Guarantees: a picture's bytes depend on its data alone (no date, no random ids). Sizes are in pixels at
100 dots an inch, text in points of that size. Does not: know what is drawn.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (matplotlib ships partial types)

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from fanal.page.fonts import families
from fanal.record.files import write_whole

PAPER, WELL = "#fbfaf6", "#f3f1ea"
INK, INK_2, INK_3 = "#15202d", "#475463", "#5d6978"
RULE, RULE_2, GRID = "#e3dfd4", "#bfb8a8", "#edeae1"
AMBER, AMBER_INK, BLUE, GHOST = "#c27600", "#8a5200", "#0072b2", "#969083"
BAND_ALPHA = 0.13
DPI = 100
PX = 72 / DPI
"""Points of one pixel."""


@contextmanager
def house_style() -> Generator[None]:
    """Figures made and saved inside are in the house's type and deterministic."""
    style: dict[Any, Any] = {
        "font.family": list(families()),
        "font.size": 13 * PX,
        "text.color": INK,
        "axes.facecolor": PAPER,
        "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "figure.dpi": DPI,
        "savefig.dpi": DPI,
        "svg.hashsalt": "fanal",
        "axes.unicode_minus": True,
        "text.hinting": "none",
        "lines.solid_capstyle": "round",
    }
    with mpl.rc_context(style):
        yield


def canvas(width_px: int, height_px: int) -> Figure:
    """An empty sheet of paper."""
    return Figure(figsize=(width_px / DPI, height_px / DPI))


def place(figure: Figure, box_px: tuple[float, float, float, float]) -> Axes:
    """Axes at (left, top, width, height) in pixels from the top left corner, without a frame."""
    width, height = (size * DPI for size in figure.get_size_inches())
    left, top, wide, high = box_px
    axes = figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, colors=INK_3, pad=6 * PX, labelsize=13 * PX)
    axes.grid(axis="y", color=GRID, linewidth=1 * PX)
    axes.set_axisbelow(True)
    return axes


def base_line(axes: Axes) -> None:
    """The x axis: one hairline with short ticks."""
    axes.spines["bottom"].set(visible=True, color=RULE_2, linewidth=1 * PX)
    axes.tick_params(axis="x", length=4 * PX, width=1 * PX, color=RULE_2, labelcolor=INK_3)


def words(figure: Figure, at_px: tuple[float, float], text: str, **look: Any) -> None:
    """Text whose first line's baseline lies at (x, y) pixels from the top left corner."""
    width, height = (size * DPI for size in figure.get_size_inches())
    size_px = look.pop("size_px", 13)
    style: dict[str, Any] = {"va": "baseline", "ha": "left", "color": INK_2, **look}
    figure.text(at_px[0] / width, 1 - at_px[1] / height, text, fontsize=size_px * PX, **style)


def label(axes: Axes, at: tuple[float, float], text: str, **look: Any) -> None:
    """Text at a point of the data; `offset_px` shifts it right and up, `halo` keeps paper around it over lines."""
    right, up = look.pop("offset_px", (0, 0))
    size_px = look.pop("size_px", 13)
    halo = [withStroke(linewidth=3 * PX, foreground=PAPER)] if look.pop("halo", False) else None
    style: dict[str, Any] = {"va": "center", "ha": "left", "color": INK_3, **look}
    axes.annotate(
        text,
        at,
        xytext=(right * PX, up * PX),
        textcoords="offset points",
        fontsize=size_px * PX,
        annotation_clip=False,
        path_effects=halo,
        **style,
    )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """`wanted` heights moved apart to at least `gap`, in their order and as little as is simple."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[list[int]] = []
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _bottom(groups[-1], wanted, gap) - _top(groups[-2], wanted, gap) < gap:
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = list(wanted)
    for group in groups:
        for k, i in enumerate(group):
            placed[i] = _bottom(group, wanted, gap) + k * gap
    return placed


def _bottom(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return sum(wanted[i] for i in group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _bottom(group, wanted, gap) + gap * (len(group) - 1)


def save(figure: Figure, path: Path) -> Path:
    """Write the picture whole or not at all; the suffix says SVG or PNG."""
    kind = path.suffix.lstrip(".")
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, metadata=metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, drawn.getvalue())
    return path
