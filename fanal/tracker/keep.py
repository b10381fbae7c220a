"""Files kept with a run: content as a blob up to `MAX_BLOB_BYTES`, beyond that SHA-256 and size only, said once.

Names are `/`-separated and never leave the run: no absolute path, no `..`, no link to somewhere else. Reading happens
in the call that names the file, since it may change or go afterwards.
"""

import glob as globbing
from collections.abc import Iterator
from fnmatch import fnmatch
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from fanal.record.blobs import PLAIN_BYTES
from fanal.record.files import sha256_of
from fanal.tracker.errors import UsageError

if TYPE_CHECKING:
    from fanal.tracker.run import Run

MAX_BLOB_BYTES = 64 << 20
PIECE_BYTES = 1 << 20
POLICIES = ("live", "now", "end")


class Kept:
    """The files of a run that were saved, and its folder for files of the script's own."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._again: dict[str, tuple[Path, tuple[int, int]]] = {}
        self._folder: Path | None = None

    def folder(self) -> Path:
        """A folder beside the record for this run's files, made when it is first asked for; kept when the run ends."""
        if self._folder is None:
            record = self._run.record.path
            self._folder = record.with_name(f"{record.name}.files") / self._run.record.id
            self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def save(self, pattern: Any, base_path: Any, policy: str, glob: bool) -> list[str]:
        """Keep the files that a pattern names; their paths."""
        if pattern is None:
            self._run.notices.once("save", "save: called without a file: nothing is kept")
            return []
        if policy not in POLICIES:
            raise UsageError(f"save: policy must be one of {', '.join(POLICIES)}, got {policy!r}")
        text = str(pattern)
        found = sorted(globbing.glob(text, recursive=True)) if glob else [text]  # noqa: PTH207  any pattern, absolute too
        for path in map(Path, found):
            if path.is_file():
                self._save(path, _name_of(path, base_path), policy)
        if not found:
            self._run.notices.once(f"save {text}", f"save: nothing is there that matches {text!r}")
        return [path for path in found if Path(path).is_file()]

    def save_again(self) -> None:
        """At the end: those that changed since, and what lies in the run's own folder."""
        for name, (path, stamp) in list(self._again.items()):
            if path.is_file() and _stamp(path) != stamp:
                self._put(path, name)
        if self._folder is not None:
            for path, name in walk(self._folder):
                self._put(path, name)

    def _save(self, path: Path, name: str, policy: str) -> None:
        if any(fnmatch(name, ignored) for ignored in self._run.asked.ignore_globs):
            return
        if policy != "now":
            self._again[name] = (path.absolute(), (-1, -1) if policy == "end" else _stamp(path))
        if policy != "end":
            self._put(path, name)

    def _put(self, path: Path, name: str) -> None:
        try:
            self._run.record.event("file", **kept_file(self._run, path, safe_name(name)))
        except OSError as error:
            self._run.notices.once(f"file {name}", f"save: {name} cannot be read: {error.strerror or error}")


def kept_file(run: "Run", path: Path, name: str) -> dict[str, Any]:
    """Keep a file: name, bytes, and its blob or its SHA-256.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    if size <= MAX_BLOB_BYTES:
        blob = run.record.file_blob(path, guess_type(name)[0] or PLAIN_BYTES)
        return {"name": name, "bytes": blob["bytes"], "blob": blob, "sha256": None}
    limit = MAX_BLOB_BYTES >> 20
    run.notices.once("large files", f"{name} is larger than {limit} MiB: its SHA-256 is recorded, not its content")
    return {"name": name, "bytes": size, "blob": None, "sha256": sha256_of(path)}


def safe_name(name: str) -> str:
    """A name inside the run: `/`-separated and relative.

    Raises:
        UsageError: it leads outside, or is empty.
    """
    text = name.replace("\\", "/")
    parts = [part for part in PurePosixPath(text).parts if part != "."]
    if not parts or text.startswith("/") or ".." in parts or ":" in parts[0] or "\0" in text:
        raise UsageError(f"file name {name[:200]!r} leads outside of the run: it must be relative, without '..'")
    return "/".join(parts)


def walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files under a folder with their names in it; what links lead to elsewhere is left out."""
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(root):
            yield path, path.relative_to(folder).as_posix()


def _name_of(path: Path, base_path: Any) -> str:
    """The name that a file is kept under: relative to the base, the working folder, or nothing but its own."""
    for base in [Path(base_path)] if base_path is not None else [Path.cwd()]:
        try:
            return path.absolute().relative_to(base.absolute()).as_posix()
        except ValueError:
            continue
    return path.name


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
