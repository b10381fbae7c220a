"""A Chromium, servers of made records, and pages that fail a test for anything a console would say."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Request, sync_playwright

from fanal.page.server import app, bind
from tests.worlds.campaign_record import Made, Recipe

CHROMIUM = Path("/usr/bin/chromium")
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1600, "height": 1000}


@dataclass
class Watched:
    """A page and everything it did that a person would not see."""

    page: Page
    said: list[str] = field(default_factory=list[str])
    """Console messages, errors, dialogs and violations of the policy."""
    asked: list[str] = field(default_factory=list[str])
    """Addresses."""


Opener = Callable[..., Watched]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    assert CHROMIUM.exists(), "the browser tests need Debian's Chromium: apt-get install -y chromium"
    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture
def serving() -> Iterator[Callable[[Path], str]]:
    """Serve the page of a record from this process; gives its address."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serve(path: Path) -> str:
        listener, _ = bind("127.0.0.1", 0)
        config = uvicorn.Config(app(path), lifespan="off", log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    yield serve
    for server, thread in running:
        server.should_exit = True
        thread.join(timeout=10)


@pytest.fixture
def file_server() -> Iterator[Callable[[Path], str]]:
    """Any file server over a folder; gives its address."""
    running: list[ThreadingHTTPServer] = []

    def serve(folder: Path) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def look(browser: Browser, serving: object, file_server: object) -> Iterator[Opener]:
    """Open an address; afterwards nothing may have been said and nobody else asked."""
    del serving, file_server  # asked for so that they outlive the pages
    opened: list[tuple[Watched, str]] = []

    def look_at(address: str, wait: bool = True, **options: Any) -> Watched:
        context = browser.new_context(**{"viewport": WIDE, **options})
        page = context.new_page()
        watched = Watched(page)
        _listen(page, watched)
        opened.append((watched, address))
        page.goto(address)
        if wait:
            page.wait_for_selector("#state .word")
        return watched

    yield look_at
    for watched, address in opened:
        host = "/".join(address.split("/")[:3])
        foreign = [a for a in watched.asked if not a.startswith(f"{host}/")]
        watched.page.context.close()
        assert not foreign
        assert not watched.said


def _listen(page: Page, watched: Watched) -> None:
    def asked(request: Request) -> None:
        watched.asked.append(request.url)

    page.on("console", lambda message: watched.said.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: watched.said.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (watched.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", asked)
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective, e.blockedURI))"
    )


@pytest.fixture(scope="session")
def hero(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A lantern whose hero is half way, right now."""
    recipe = Recipe(start_ns=time.time_ns() - round(150e9))
    made = Made(tmp_path_factory.mktemp("hero"), recipe).data().rungs().seal().hero(0.54)
    yield made
    made.close()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A firefly of long ago that never ended, with hostile words and values that are not finite."""
    words = "</script><img src=x onerror=alert(1)><svg onload=alert(2)>[x](javascript:alert(3))"
    recipe = Recipe(campaign="firefly", hostile=words, bad_steps=(30, 31, 32, 50), bad_evals=(4, 5))
    made = Made(tmp_path_factory.mktemp("hostile"), recipe).data().rungs().seal().hero(0.8)
    yield made
    made.close()
