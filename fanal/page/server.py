"""The page over HTTP: a process of its own beside the writer, read-only, in the same layout as a published folder.

GET and HEAD only; only known names are served and no path is ever made of what was asked for. Every
answer carries a strict content security policy. Only the manifests change, with an ETag; everything
else is immutable. It binds to the loopback address unless told otherwise and takes the next free port.
"""

import errno
import hashlib
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fanal.errors import FanalError, RecordError
from fanal.page.live import LivePage
from fanal.page.site import Assets, assets, cache_rule, content_type
from fanal.record.files import DamagedError

HOST, PORT = "127.0.0.1", 8731
PORTS_TRIED = 50
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
GUARD = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOT_PUBLISHED = {"Cache-Control": "no-store"}


def app(path: Path) -> Starlette:
    """The page of the record at `path`, which need not exist yet."""
    page, shared = LivePage(path), assets()

    def answer(request: Request) -> Response:
        return _answer(request.path_params["name"], request.headers, page, shared)

    return Starlette(routes=[Route("/{name:path}", answer, methods=["GET"])])


def _answer(name: str, headers: Mapping[str, str], page: LivePage, shared: Assets) -> Response:
    if name in ("", "index.html"):
        return _bytes(shared.index, "index.html")
    if name == "manifest.json":
        return _manifest(headers, page)
    if name in shared.files:
        return _bytes(shared.files[name], name)
    if name.startswith("view/") and (body := page.view_body(name)) is not None:
        return _bytes(body, name)
    if name.startswith("record/"):
        return _record(name, headers, page)
    return _not_found()


def _not_found() -> Response:
    return Response("not found\n", status_code=404, media_type="text/plain", headers=GUARD | NOT_PUBLISHED)


def _record(name: str, headers: Mapping[str, str], page: LivePage) -> Response:
    try:
        body = page.record_bytes(name.removeprefix("record/"))
    except (RecordError, DamagedError, OSError) as error:
        return _unreadable(error)
    if body is None:
        return _not_found()
    return _bytes(body, name) if not name.endswith("/manifest.json") else _changing(body, name, headers)


def _bytes(body: bytes, name: str) -> Response:
    return Response(body, headers={**GUARD, "Content-Type": content_type(name), "Cache-Control": cache_rule(name)})


def _changing(body: bytes, name: str, headers: Mapping[str, str]) -> Response:
    """A file that changes, or that it has not."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    cached = {**GUARD, "ETag": tag, "Cache-Control": cache_rule(name), "Content-Type": content_type(name)}
    return (
        Response(status_code=304, headers=cached)
        if headers.get("if-none-match") == tag
        else Response(body, headers=cached)
    )


def _unreadable(error: Exception) -> Response:
    print(f"fanal: {error}", file=sys.stderr, flush=True)
    return Response("the record cannot be read\n", status_code=503, headers=GUARD | NOT_PUBLISHED)


def _manifest(headers: Mapping[str, str], page: LivePage) -> Response:
    try:
        newest = replace(page.newest(), record_manifest_sha256=page.record_sha256())
    except (RecordError, DamagedError, OSError) as error:
        return _unreadable(error)
    return _changing(newest.manifest, "manifest.json", headers)


def serve(path: Path | str, host: str = HOST, port: int = PORT) -> None:
    """Serve the page of `path` until interrupted; the first line on standard output is its address.

    Raises:
        FanalError: no port is free, or the address is not this machine's.
    """
    listener, taken = bind(host, port)
    with listener:
        found = int(listener.getsockname()[1])
        if taken:
            print(f"fanal: port {port} is taken; the page is at port {found}", file=sys.stderr, flush=True)
        shown = f"[{host}]" if ":" in host else host
        print(f"http://{shown}:{found}", flush=True)
        config = uvicorn.Config(
            app(Path(path)),
            lifespan="off",
            timeout_graceful_shutdown=2,
            log_level="warning",
            access_log=False,
            server_header=False,
        )
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return


def bind(host: str, port: int) -> tuple[socket.socket, bool]:
    """A listening socket on `port` or the next free one, and whether `port` itself was taken.

    Raises:
        FanalError: none of the next ports is free, or the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + PORTS_TRIED) if port else (0,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE and not isinstance(error, PermissionError):
                raise FanalError(f"{host}:{candidate} cannot be served: {error.strerror or error}") from error
            continue
        return listener, candidate != port
    raise FanalError(f"ports {port} to {port + PORTS_TRIED - 1} of {host} are taken: name another with --port")
