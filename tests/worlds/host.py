"""A file server on loopback that a test can make faulty: it notes what is asked, and breaks or alters answers."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Fault = Callable[[str, int], str | None]
"""By path and how often it was asked before: `503`, `cut`, `alter`, or None for the file as it is."""


@dataclass
class Host:
    """The server, and what was asked of it."""

    url: str = ""
    asked: list[str] = field(default_factory=list[str])
    fault: Fault = field(default=lambda path, before: None)

    def taken(self) -> list[str]:
        """What was asked since the last call."""
        asked, self.asked = self.asked, []
        return asked


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, host: Host, before: Counter[str], *args: object, directory: str) -> None:
        self._host, self._before = host, before
        super().__init__(*args, directory=directory)  # pyright: ignore[reportArgumentType]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        before = self._before[self.path]
        self._before[self.path] += 1
        self._host.asked.append(self.path)
        fault = self._host.fault(self.path, before)
        if fault == "503":
            self.send_error(503)
            return
        if fault is None:
            super().do_GET()
            return
        body = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else bytes([body[0] ^ 1]) + body[1:])
        self.close_connection = True


@contextmanager
def serving(folder: Path) -> Iterator[Host]:
    """`folder` over HTTP on loopback."""
    host = Host()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, host, Counter(), directory=str(folder)))
    server.daemon_threads = True
    host.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
