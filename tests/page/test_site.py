"""The page's own files: named by content, whole, and without anything that a strict policy would stop."""

import hashlib
import re
from pathlib import Path

import pytest

import fanal.page
from fanal.page.server import POLICY
from fanal.page.site import assets, view
from fanal.page.state import poll_seconds, state_json, waiting_state
from tests.page.conftest import Grown

WEB = Path(fanal.page.__file__).parent / "web"
OURS = sorted(p for p in WEB.iterdir() if p.is_file())
SCRIPTS = [p for p in OURS if p.suffix == ".js"]
BANNED = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "srcdoc",
    "javascript:",
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_no_script_makes_markup_of_text(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not [word for word in BANNED if word in text]
    assert 'setAttribute("style"' not in text


@pytest.mark.parametrize("path", [p for p in OURS if p.suffix in (".js", ".css", ".html")], ids=lambda p: p.name)
def test_a_file_is_short_and_asks_no_other_host(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 400
    foreign = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text)) - {"http://www.w3.org"}
    assert not foreign


def test_the_page_has_no_script_and_no_style_inside() -> None:
    html = (WEB / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert "<style" not in html
    assert re.findall(r"\s(?:on\w+|style)=", html) == []


def test_the_pages_own_policy_is_the_servers_but_for_what_only_a_header_can_say() -> None:
    (written,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', (WEB / "index.html").read_text("utf-8"))
    assert written == POLICY.replace("frame-ancestors 'none'; ", "")


def test_vendored_files_are_the_ones_that_their_page_names() -> None:
    listed = dict(
        re.findall(r"\| `([\w.-]+)` \|.*\| `([0-9a-f]{64})` \|", (WEB / "vendor" / "README.md").read_text("utf-8"))
    )
    found = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (WEB / "vendor").iterdir() if p.name != "README.md"
    }
    assert listed == found


def test_an_asset_is_named_by_its_content() -> None:
    for name, body in assets().files.items():
        assert re.fullmatch(r"assets/[\w.-]+\.[0-9a-f]{16}\.(js|css|woff2|svg)", name)
        assert hashlib.sha256(body).hexdigest()[:16] in name


def test_every_reference_is_to_a_file_that_is_there_and_every_file_is_referred_to() -> None:
    shared = assets()
    names = {name.removeprefix("assets/") for name in shared.files}
    texts = [shared.index, *(b for n, b in shared.files.items() if n.endswith((".js", ".css")) and "uPlot" not in n)]
    used = {
        m
        for text in texts
        for m in re.findall(r"""["'(](?:\./|assets/)([\w.-]+\.(?:js|css|woff2|svg))["')]""", text.decode())
    }
    assert used == names
    assert {p.name for p in OURS} - {"index.html", "types.js"} <= {re.sub(r"\.[0-9a-f]{16}\.", ".", n) for n in names}


def test_the_first_load_is_small() -> None:
    assert sum(map(len, assets().files.values())) < 250_000


def test_a_view_is_named_by_its_bytes_and_the_manifest_names_it(grown: Grown) -> None:
    state = grown.states["half"]
    made = view(state, "a" * 64)
    assert made.name == f"view/{hashlib.sha256(state_json(state)).hexdigest()}.json"
    assert made.body == state_json(state)
    assert made.name in made.manifest.decode()
    assert len(made.manifest) < 10_000
    assert f'"poll_seconds": {poll_seconds(state)}' in made.manifest.decode()
    assert view(waiting_state(), None).name != made.name


def test_a_view_is_at_most_200_kilobytes(grown: Grown) -> None:
    assert len(state_json(grown.states["done"])) < 200_000


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_out_from_their_ground(theme: str) -> None:
    css = (WEB / "style.css").read_text("utf-8")
    start = css.index(":root{") if theme == "light" else css.index(":root[data-theme=dark]{")
    colours = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", css[start : css.index("}", start)]))
    for name in ("ink", "ink-2", "ink-3", "amber-ink", "blue", "alarm"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name


def test_both_ways_to_the_dark_theme_are_the_same() -> None:
    css = (WEB / "style.css").read_text("utf-8")
    blocks = re.findall(r"color-scheme:dark;[^}]*", css)
    assert len(blocks) == 2
    assert blocks[0].split() == blocks[1].split()


def contrast(one: str, other: str) -> float:
    """Contrast by WCAG 2: (lighter + 0.05) over (darker + 0.05)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
