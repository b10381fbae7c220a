"""Pictures of the page for the README: a phone and a desk, light and dark.

`python -m tests.browser.pictures RECORD [FOLDER]` takes them of any record, also of one that is being written.
"""

import sys
import threading
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, sync_playwright

from fanal.page.server import app, bind

CHROMIUM = "/usr/bin/chromium"
SIZES = {"wide": ({"width": 1600, "height": 1000}, 1), "phone": ({"width": 390, "height": 844}, 2)}
"""Viewport in CSS pixels, and device pixels of one."""


def take(browser: Browser, address: str, folder: Path) -> None:
    """One picture a size and theme."""
    for size, (viewport, scale) in SIZES.items():
        for theme in ("light", "dark"):
            context = browser.new_context(viewport=viewport, device_scale_factor=scale, color_scheme=theme)
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector("#router-maps canvas", state="attached")
            page.wait_for_timeout(500)
            page.screenshot(path=folder / f"page-{size}-{theme}.png")
            context.close()


def main(record: Path, folder: Path) -> None:
    """Serve `record`, take the pictures into `folder`."""
    listener, _ = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app(record), lifespan="off", log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        take(browser, f"http://127.0.0.1:{listener.getsockname()[1]}/", folder)
        browser.close()
    server.should_exit = True
    thread.join(timeout=10)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "docs/pictures"))
