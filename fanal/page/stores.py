"""Where a site goes: a folder, or a prefix of a bucket; what both can do is put, read, list and delete whole files.

A put is atomic: a reader finds the file that was there or the new one. Nothing is renamed and nothing is appended.
`s3://`, `gs://` and `az://` need the package `obstore` (`pip install 'fanal[s3]'`), which is loaded for them alone.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shutil import copyfileobj
from typing import Protocol

from fanal.errors import RecordError, RefusedError
from fanal.record.copies.publishing import BUCKETS, form_without_bucket
from fanal.record.files import TEMPORARY_PREFIX, sync_folder, write_whole

LEFTOVER_SECONDS = 3600


class StoreError(RecordError):
    """A destination that could not be read or written just now; what was there is untouched."""


@dataclass(frozen=True)
class Stored:
    """A file at the destination."""

    num_bytes: int
    changed: float
    """Seconds since 1970."""


class Store(Protocol):
    """A destination."""

    @property
    def name(self) -> str:
        """As the user wrote it."""
        ...

    def listed(self) -> dict[str, Stored]:
        """Every file, by name."""
        ...

    def get(self, name: str) -> bytes | None:
        """A file, or None where there is none."""
        ...

    def put(self, name: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Put a file, whole."""
        ...

    def put_file(self, name: str, path: Path, headers: Mapping[str, str]) -> None:
        """Put a large file, whole, from the disk."""
        ...

    def delete(self, name: str) -> None:
        """Take a file away; it may be gone."""
        ...

    @property
    def address(self) -> str | None:
        """Where people find it on the web, where that can be known."""
        ...


class FolderStore:
    """A folder on this machine; headers are for its server to set."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder
        self._made: set[Path] = set()

    def listed(self) -> dict[str, Stored]:
        """Every file, by name; what a killed process left behind is taken away."""
        found: dict[str, Stored] = {}
        for at, _, names in os.walk(self._folder):
            for name in names:
                path = Path(at) / name
                try:
                    about = path.lstat()
                except FileNotFoundError:
                    continue
                if name.startswith(TEMPORARY_PREFIX):
                    path.unlink(missing_ok=True)
                else:
                    found[path.relative_to(self._folder).as_posix()] = Stored(about.st_size, about.st_mtime)
        return found

    def get(self, name: str) -> bytes | None:
        """A file, or None where there is none."""
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, name: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Put a file, whole."""
        path = self._folder / name
        try:
            self._make(path.parent)
            write_whole(path, body)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error

    def put_file(self, name: str, path: Path, headers: Mapping[str, str]) -> None:
        """Put a large file, whole, from the disk."""
        to = self._folder / name
        temporary = to.with_name(f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}")
        try:
            self._make(to.parent)
            with path.open("rb") as source, temporary.open("xb") as copy:
                copyfileobj(source, copy, 1 << 20)
                copy.flush()
                os.fsync(copy.fileno())
            os.replace(temporary, to)  # noqa: PTH105  named so that the tests can stop at each of these calls
            sync_folder(to.parent)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StoreError(f"{to} cannot be written: {error.strerror or error}") from error

    @property
    def address(self) -> str | None:
        """None: whoever serves the folder knows."""
        return None

    def delete(self, name: str) -> None:
        """Take a file away; it may be gone."""
        try:
            (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self._folder / name} cannot be removed: {error.strerror or error}") from error

    def _make(self, folder: Path) -> None:
        if folder in self._made:
            return
        missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
        folder.mkdir(parents=True, exist_ok=True)
        for one in missing:
            sync_folder(one.parent)
        self._made.add(folder)


def is_bucket(dest: str) -> bool:
    """Whether a destination is no folder."""
    return "://" in dest


def open_store(dest: str) -> Store:
    """The store that a destination names.

    Raises:
        RefusedError: it is a file, or an address of a kind that cannot be written to.
        StoreError: the package that speaks to buckets is not installed, or the address is wrong.
    """
    if not is_bucket(dest):
        if Path(dest).exists() and not Path(dest).is_dir():
            raise RefusedError(f"{dest} is a file: name a new or empty folder")
        return FolderStore(Path(dest))
    if not dest.startswith(BUCKETS):
        raise RefusedError(f"{dest} is no place to publish to: name a folder, or s3://, gs:// or az:// with a bucket")
    if form := form_without_bucket(dest):
        raise RefusedError(f"{dest} names no bucket: write {form}")
    try:
        buckets = import_module("fanal.page.buckets")
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise StoreError(f"{dest} needs the package obstore: pip install 'fanal[s3]'") from error
    store: Store = buckets.BucketStore(dest)
    return store
