"""Places to publish to and follow from, on loopback: a plain file server, and a host with faults before another one.

`Faulty` passes requests on and breaks what it is told to: answers cut in the middle, 403, 503, late, with a wrong date,
requests delivered twice, files of a minute ago and missing files remembered as a bad cache would.
"""

import functools
import http.client
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Fault = Callable[[str, str, int], str | None]
"""Given method, path and number of the request: `cut`, `403`, `503`, `slow`, `date`, `twice`, `lost`, or None."""


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serve(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on loopback; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """A plain file server over a folder; its address."""
    with serve(functools.partial(_Quiet, directory=str(folder))) as address:
        yield address


@dataclass
class Faulty:
    """What goes through a proxy, and what breaks."""

    upstream: str
    fault: Fault = lambda method, path, number: None
    seen: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """Method, path and status of each answer that was passed on."""
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By path, the headers of its last put."""
    stale: dict[str, tuple[int, bytes]] = field(default_factory=dict[str, tuple[int, bytes]])
    """By path, the answer that a bad cache still gives."""
    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self) -> int:
        """The number of this request."""
        with self.lock:
            self.number += 1
            return self.number


def _proxy(faulty: Faulty) -> type[BaseHTTPRequestHandler]:
    host = faulty.upstream.removeprefix("http://").rstrip("/")

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            what = faulty.fault(self.command, self.path, faulty.count())
            if what in ("403", "503"):
                self._answer(int(what), {}, b"<Error><Code>SlowDown</Code></Error>")
                return
            if what == "lost":
                self.close_connection = True
                return
            if what == "slow":
                threading.Event().wait(0.3)
            if self.path in faulty.stale:
                self._answer(faulty.stale[self.path][0], {}, faulty.stale[self.path][1])
                return
            status, headers, answer = self._ask(body)
            if what == "twice":
                status, headers, answer = self._ask(body)
            if self.command == "PUT":
                faulty.headers[self.path] = dict(self.headers.items())
            faulty.seen.append((self.command, self.path, status))
            if what == "date":
                headers["Date"] = "Mon, 01 Jan 1990 00:00:00 GMT"
            self._answer(status, headers, answer, len(answer) // 2 if what == "cut" else len(answer))

        def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
            connection = http.client.HTTPConnection(host, timeout=20)
            try:
                headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                kept = ("Content-Type", "ETag", "Last-Modified", "Cache-Control", "Date")
                return answer.status, {k: v for k in kept if (v := answer.headers.get(k))}, answer.read()
            finally:
                connection.close()

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes, num: int | None = None) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status not in (204, 304):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[:num])
            if num is not None and num < len(body):
                self.close_connection = True

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    return Proxy


@contextmanager
def faulty_host(upstream: str, fault: Fault | None = None) -> Iterator[tuple[str, Faulty]]:
    """A host with faults before another one; its address and what happens there."""
    faulty = Faulty(upstream)
    if fault is not None:
        faulty.fault = fault
    with serve(_proxy(faulty)) as address:
        yield address, faulty
