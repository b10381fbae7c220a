"""The page's own typeface for matplotlib, which reads no compressed web font: made once a process, in about a second.

Guarantees: pictures and page are set in the same letters; a sign that the Latin subset lacks is drawn
in DejaVu Sans, which comes with matplotlib. Does not: install anything or leave a file behind.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# (fontTools ships no types)

import atexit
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from matplotlib.font_manager import fontManager

SOURCE = Path(__file__).parent / "web" / "vendor" / "source-sans-3.woff2"
REGULAR, SEMIBOLD = 400, 600
_FAMILY = "Source Sans 3 Fanal"


@cache
def families() -> tuple[str, ...]:
    """Names to set as `font.family`, in order of preference."""
    folder = tempfile.TemporaryDirectory(prefix="fanal-fonts-")
    atexit.register(folder.cleanup)
    for weight in (REGULAR, SEMIBOLD):
        font = instantiateVariableFont(TTFont(SOURCE), {"wght": weight})
        font.flavor = None
        font["OS/2"].usWeightClass = weight  # matplotlib chooses a weight by this number
        # in an SVG a letter's shape is found by PostScript name, so the two weights must not share one
        for name_id, name in ((1, _FAMILY), (16, _FAMILY), (6, f"{_FAMILY.replace(' ', '')}-{weight}")):
            font["name"].setName(name, name_id, 3, 1, 0x409)
            font["name"].setName(name, name_id, 1, 0, 0)
        file = Path(folder.name) / f"{weight}.ttf"
        font.save(file)
        fontManager.addfont(file)
    # the fallback has no semibold: its bold stands for it, instead of a warning for each text
    bold = next(e for e in fontManager.ttflist if (e.name, e.weight, e.style) == ("DejaVu Sans", 700, "normal"))
    fontManager.ttflist.append(replace(bold, weight=SEMIBOLD))
    return (_FAMILY, "DejaVu Sans")
