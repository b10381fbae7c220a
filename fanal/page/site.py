"""The page as named files: the same ones over HTTP and in a folder, all immutable but two.

`assets()` names every script, style, font and picture by its content and rewrites the references among
them, so a cache can never mix two versions; only `index.html` and `manifest.json` keep their names.
References are relative, so the page works in any folder. Nothing here opens a socket or writes a file.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fanal.page.state import FORMAT, PageState, poll_seconds, state_json

KIND = "fanal page"
SUFFIXES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
}
IMMUTABLE = "public, max-age=31536000, immutable"
MANIFEST_CACHE = "public, max-age=0, s-maxage=1, must-revalidate"
INDEX_CACHE = "public, max-age=60"
_REFERENCE = re.compile(r"""(?P<before>["'(])(?:\./)?(?P<path>[\w./-]+\.(?:js|css|woff2|svg))(?P<after>["')])""")


@dataclass(frozen=True)
class View:
    """One state of the page, as files."""

    name: str
    """`view/<sha256>.json`."""
    body: bytes
    """The state."""
    poll_seconds: float
    phase: str
    record_manifest_sha256: str | None = None
    """Of the record's own manifest that lies beside the page."""

    @property
    def manifest(self) -> bytes:
        """The page's manifest that names it."""
        fields = {
            "kind": KIND,
            "format": FORMAT,
            "view": self.name,
            "poll_seconds": self.poll_seconds,
            "phase": self.phase,
            "record_manifest_sha256": self.record_manifest_sha256,
            "record": "record/",
        }
        return json.dumps(fields, allow_nan=False).encode()


@dataclass(frozen=True)
class Assets:
    """What every state of the page shares."""

    index: bytes
    """`index.html`."""
    files: dict[str, bytes]
    """Everything under `assets/`, by name; immutable."""


def view(state: PageState, record_manifest_sha256: str | None) -> View:
    """`state` as a file named by its content, and the manifest that points to it."""
    body = state_json(state)
    name = f"view/{hashlib.sha256(body).hexdigest()}.json"
    return View(name, body, poll_seconds(state), state.progress.phase.value, record_manifest_sha256)


def cache_rule(name: str) -> str:
    """How long caches may keep a file of the site: only three files ever change."""
    if name in ("manifest.json", "record/manifest.json"):
        return MANIFEST_CACHE
    return INDEX_CACHE if name == "index.html" else IMMUTABLE


def content_type(name: str) -> str:
    """The media type of a file, by its suffix; unknown ones, and all of a record, are bytes."""
    if name.startswith("record/"):
        return "application/octet-stream"
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), "application/octet-stream")


@cache
def assets() -> Assets:
    """The page's own files from the package, each under a name that holds its hash."""
    sources = _sources()
    named: dict[str, tuple[str, bytes]] = {}
    index = _rewrite("index.html", sources, named, ())
    return Assets(index, {f"assets/{name}": body for name, body in named.values()})


def _sources() -> dict[str, bytes]:
    """The files of `web/` and `web/vendor/`, by path within `web/`."""
    web = files("fanal.page") / "web"
    found = {entry.name: entry.read_bytes() for entry in web.iterdir() if entry.is_file()}
    return found | {f"vendor/{e.name}": e.read_bytes() for e in (web / "vendor").iterdir() if e.is_file()}


def _rewrite(
    path: str, sources: dict[str, bytes], named: dict[str, tuple[str, bytes]], above: tuple[str, ...]
) -> bytes:
    """`path` with each reference to another of our files replaced by that file's final name."""
    assert path not in above, f"files of the page refer to each other in a circle: {above}"
    if path.endswith(".woff2") or path.startswith("vendor/"):
        return sources[path]

    def final(match: re.Match[str]) -> str:
        target = match["path"]
        if target not in sources:
            return match[0]
        if target not in named:
            body = _rewrite(target, sources, named, (*above, path))
            stem, _, suffix = target.rpartition("/")[2].rpartition(".")
            named[target] = (f"{stem}.{hashlib.sha256(body).hexdigest()[:16]}.{suffix}", body)
        here = "assets/" if path == "index.html" else "./"
        return f"{match['before']}{here}{named[target][0]}{match['after']}"

    return _REFERENCE.sub(final, sources[path].decode()).encode()
