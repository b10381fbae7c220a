"""Files of a record at an address: each whole, over one kept connection, asked for again when an answer is cut or late.

Only GET of whole files; a checked file is held against its SHA-256 before anybody sees it. What a host answers in
trouble (403, 408, 429, 5xx, a broken body) is tried again with growing pauses, a missing file (404, 410) is said as
such. Redirects and the system's proxies are followed. Nothing is cached, and no cookie or password is kept.
"""

import hashlib
import http.client
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from fanal.errors import RecordError
from fanal.record.files import TEMPORARY_PREFIX, sync_folder, write_all

TIMEOUT_SECONDS = 30.0
TRIES = 7
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 10.0
MAX_REDIRECTS = 5
MAX_DOCUMENT_BYTES = 64 << 20
"""Of files that are held in memory; larger ones go to disk piece by piece."""
_PIECE_BYTES = 1 << 20
_GONE = (404, 410)
_MOVED = (301, 302, 303, 307, 308)
_PAST_CACHES = {"Cache-Control": "no-cache"}
_HEADERS = {"User-Agent": "fanal", "Accept": "*/*", "Accept-Encoding": "identity"}


class UnreachableError(RecordError):
    """An address that did not answer as it should, however often it was asked."""


class AbsentError(RecordError):
    """A file that is not at the address."""


class AlteredError(RecordError):
    """A file at the address whose bytes are not those that its hash names."""


@dataclass(frozen=True)
class Answer:
    """A file as a host gave it."""

    body: bytes
    tag: str | None
    """Its ETag, to ask next time whether it is still the same."""


class _TroubleError(Exception):
    """An answer that may be another one the next time."""


def is_address(path: object) -> bool:
    """Whether a record argument is an address and no path."""
    return isinstance(path, str) and path.startswith(("http://", "https://"))


class Address:
    """A folder behind HTTP; for one thread."""

    def __init__(self, url: str, tries: int = TRIES, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise RecordError(f"{url!r} is no address of a record: it must look like https://host/folder/")
        path = parts.path.removesuffix("index.html").removesuffix("manifest.json")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path.rstrip('/')}/"
        self._tries = tries
        self._timeout_seconds = timeout_seconds
        self._connections: dict[tuple[str, str], http.client.HTTPConnection] = {}

    def within(self, folder: str) -> "Address":
        """A folder inside this one."""
        return Address(f"{self.url}{folder}", self._tries, self._timeout_seconds)

    def get(self, name: str, tag: str | None = None) -> Answer | None:
        """A small file as it is now; None where it still has the tag.

        Raises:
            AbsentError: it is not there.
            UnreachableError: the host did not answer as it should.
        """
        return self._ask(name, {"If-None-Match": tag} if tag else {}, _Memory())

    def checked(self, name: str, sha256: str) -> bytes:
        """A small file with that hash.

        Raises:
            AbsentError: it is not there.
            AlteredError: what is there is another file, also past the caches.
            UnreachableError: the host did not answer as it should.
        """
        for headers in ({}, _PAST_CACHES):
            answer = self._ask(name, headers, _Memory())
            if answer is not None and hashlib.sha256(answer.body).hexdigest() == sha256:
                return answer.body
        raise self._altered(name, sha256)

    def download(self, name: str, sha256: str, to: Path) -> None:
        """Put a file of any size with that hash at `to`, whole or not at all.

        Raises:
            AbsentError: it is not there.
            AlteredError: what is there is another file, also past the caches.
            UnreachableError: the host did not answer as it should.
        """
        temporary = to.with_name(f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}")
        try:
            for headers in ({}, _PAST_CACHES):
                disk = _Disk(temporary)
                self._ask(name, headers, disk)
                if disk.sha256 == sha256:
                    os.replace(temporary, to)  # noqa: PTH105  named so that the tests can stop at each of these calls
                    sync_folder(to.parent)
                    return
        finally:
            temporary.unlink(missing_ok=True)
        raise self._altered(name, sha256)

    def close(self) -> None:
        """End the connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _altered(self, name: str, sha256: str) -> AlteredError:
        return AlteredError(f"{self.url}{name} has changed since it was written: its SHA-256 is not {sha256}")

    def _ask(self, name: str, headers: dict[str, str], into: "_Memory | _Disk") -> Answer | None:
        """One file, asked for until it comes whole; None where it has not changed."""
        trouble = ""
        for attempt in range(self._tries):
            if attempt:
                pause = min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS)
                time.sleep(pause * random.uniform(0.5, 1.0))
            try:
                response = self._response(f"{self.url}{quote(name)}", {**_HEADERS, **headers})
                if response.status == 304:
                    response.read()
                    return None
                pieces = _pieces(response)
                into.take(pieces)
                return Answer(into.body, response.headers.get("ETag"))
            except (_TroubleError, http.client.HTTPException) as error:
                trouble = str(error) or type(error).__name__
                self.close()
        raise UnreachableError(f"{self.url}{name} cannot be fetched: {trouble}")

    def _response(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        """The answer to a GET, redirects followed; raises on what is no file."""
        for _ in range(MAX_REDIRECTS):
            connection, target = self._connection(urlsplit(url))
            try:
                connection.request("GET", target, headers=headers)
                response = connection.getresponse()
            except OSError as error:
                raise _TroubleError(str(error)) from error
            if response.status in (200, 304):
                return response
            response.read(_PIECE_BYTES)
            if response.status in _GONE:
                self.close()
                raise AbsentError(f"{url} is not there (HTTP {response.status})")
            if response.status not in _MOVED:
                raise _TroubleError(f"the host answers {response.status} {response.reason}")
            url = urljoin(url, response.headers.get("Location", ""))
            self.close()
        raise _TroubleError(f"it is redirected more than {MAX_REDIRECTS} times")

    def _connection(self, parts: SplitResult) -> tuple[http.client.HTTPConnection, str]:
        """A connection to the host, or to the system's proxy for it, and what to ask there."""
        target = parts.path or "/"
        target += f"?{parts.query}" if parts.query else ""
        host = parts.hostname or ""
        proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
        if proxy and parts.scheme == "http":
            target = f"http://{parts.netloc}{target}"
        key = (parts.scheme, parts.netloc)
        if key not in self._connections:
            self._connections[key] = _connect(parts, proxy, self._timeout_seconds)
        return self._connections[key], target


class _Memory:
    """Takes a small file."""

    def __init__(self) -> None:
        self.body = b""

    def take(self, pieces: Iterator[bytes]) -> None:
        """Keep all pieces."""
        taken = bytearray()
        for piece in pieces:
            taken += piece
            if len(taken) > MAX_DOCUMENT_BYTES:
                raise RecordError(f"a document of more than {MAX_DOCUMENT_BYTES:,} bytes is none of a record")
        self.body = bytes(taken)


class _Disk:
    """Takes a file of any size."""

    def __init__(self, path: Path) -> None:
        self.body = b""
        self.sha256 = ""
        self._path = path

    def take(self, pieces: Iterator[bytes]) -> None:
        """Write all pieces and wait for the disk."""
        digest = hashlib.sha256()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            for piece in pieces:
                digest.update(piece)
                write_all(handle, piece)
            os.fsync(handle)
        finally:
            os.close(handle)
        self.sha256 = digest.hexdigest()


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body; a length that was promised and did not come is trouble."""
    promised = response.headers.get("Content-Length")
    came = 0
    while piece := _read(response):
        came += len(piece)
        yield piece
    if promised is not None and promised.isdigit() and came != int(promised):
        raise _TroubleError(f"the answer broke off after {came} of {promised} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_PIECE_BYTES)
    except OSError as error:
        raise _TroubleError(str(error)) from error


def _connect(parts: SplitResult, proxy: str | None, timeout_seconds: float) -> http.client.HTTPConnection:
    made = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    if proxy is None:
        return made(parts.hostname or "", parts.port, timeout=timeout_seconds)
    through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    connection = made(through.hostname or "", through.port, timeout=timeout_seconds)
    if parts.scheme == "https":
        connection.set_tunnel(parts.hostname or "", parts.port)
    return connection
