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
