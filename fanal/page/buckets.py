"""A prefix of a bucket as a place to publish to: S3 and what speaks like it, Google's and Azure's.

Keys, endpoint and region come from the usual variables of each (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …) or from the
machine; none is written anywhere. A request in trouble is tried again by the client for half a minute, then it is
said; a put is one request, atomic, with the file's media type and cache rule.
"""

import os
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from fanal.page.stores import Stored, StoreError

Result = TypeVar("Result")
RETRY_SECONDS = 30
TRIES = 6
FORBIDDEN_TRIES = 4
FORBIDDEN_PAUSE_SECONDS = 0.5
"""A host that has just got new keys, or is busy, may say no once to what it takes a moment later."""

_KEYS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS",),
    "az": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"),
}
"""The usual variables of each; a machine may have a role of its own instead."""

_RETRY: Any = {
    "max_retries": TRIES,
    "retry_timeout": timedelta(seconds=RETRY_SECONDS),
    "backoff": {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=10), "base": 2},
}


class BucketStore:
    """A prefix of a bucket."""

    def __init__(self, dest: str) -> None:
        self.name = dest.rstrip("/")
        options: Any = {"timeout": timedelta(seconds=300), "connect_timeout": timedelta(seconds=15)}
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
            options["allow_http"] = True
        try:
            self._store: Any = from_url(self.name, client_options=options, retry_config=_RETRY)
        except (BaseError, ValueError) as error:
            raise StoreError(f"{dest} cannot be opened: {self._words(error)}") from error

    def listed(self) -> dict[str, Stored]:
        """Every file under the prefix, by name; a request a thousand."""
        try:
            found: list[Any] = _persist(lambda: [one for chunk in self._store.list(chunk_size=1000) for one in chunk])
            return {one["path"]: Stored(one["size"], one["last_modified"].timestamp()) for one in found}
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.name} cannot be listed: {self._words(error)}") from error

    def get(self, name: str) -> bytes | None:
        """A file, or None where there is none."""
        try:
            return _persist(lambda: bytes(self._store.get(name).bytes()))
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.name}/{name} cannot be read: {self._words(error)}") from error

    def put(self, name: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Put a file, whole."""
        try:
            _persist(lambda: self._store.put(name, body, attributes=dict(headers), use_multipart=False))
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.name}/{name} cannot be written: {self._words(error)}") from error

    def put_file(self, name: str, path: Path, headers: Mapping[str, str]) -> None:
        """Put a large file, whole, from the disk, in parts."""
        try:
            _persist(lambda: self._store.put(name, path, attributes=dict(headers), use_multipart=True))
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.name}/{name} cannot be written: {self._words(error)}") from error

    @property
    def address(self) -> str | None:
        """The address of the bucket itself; a domain or a cache before it is for its owner to name."""
        scheme, _, rest = self.name.partition("://")
        bucket, _, prefix = rest.partition("/")
        end = f"{prefix}/" if prefix else ""
        if scheme == "gs":
            return f"https://storage.googleapis.com/{bucket}/{end}index.html"
        if scheme != "s3":
            return None
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "").rstrip("/")
        if endpoint:
            return f"{endpoint}/{bucket}/{end}index.html"
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        return f"https://{bucket}.s3.{region}.amazonaws.com/{end}index.html"

    def delete(self, name: str) -> None:
        """Take a file away; it may be gone."""
        try:
            _persist(lambda: self._store.delete(name))
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.name}/{name} cannot be removed: {self._words(error)}") from error

    def _words(self, error: Exception) -> str:
        """What the client says; before it the variables that are missing here, which is why most often."""
        names = _KEYS.get(self.name.partition("://")[0], ())
        missing = " and ".join(name for name in names if not os.environ.get(name))
        return f"the environment has no {missing} ({_words(error)})" if missing else _words(error)


def _persist(ask: Callable[[], Result]) -> Result:
    """What the host answers, asked again where it says no."""
    for attempt in range(1, FORBIDDEN_TRIES):
        try:
            return ask()
        except (PermissionDeniedError, UnauthenticatedError):
            time.sleep(FORBIDDEN_PAUSE_SECONDS * attempt)
    return ask()


def _words(error: Exception) -> str:
    """The first line of what the client says, without the request's own address and keys."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
