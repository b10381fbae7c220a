"""The code of an attempt: git's commit always, and with `save_code` or `log_code` the files and what is changed.

Files are kept as blobs, at most `MAX_FILES` of at most `MAX_FILE_BYTES`, what is left out said once. Secrets in them
are replaced before they are written.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanal.record.secrets import redact_text
from fanal.tracker import git

if TYPE_CHECKING:
    from fanal.tracker.run import Run

MAX_FILES = 2_000
MAX_FILE_BYTES = 1 << 20
SKIPPED = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".venv",
        "venv",
        "env",
        "node_modules",
        "site-packages",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        "build",
        "dist",
        "wandb",
    ]
)
"""Folders whose code is somebody else's, or made."""
PYTHON = (".py", ".pyi")


@dataclass(frozen=True)
class Chosen:
    """Which files `log_code` keeps: functions of the path, or of the path and the root."""

    include: Callable[..., bool] | None = None
    exclude: Callable[..., bool] | None = None

    def takes(self, path: Path, root: Path) -> bool:
        """Whether a file is kept."""
        if self.exclude is not None and _ask(self.exclude, path, root):
            return False
        return _ask(self.include, path, root) if self.include is not None else path.suffix in PYTHON


def log_code(run: "Run", root: str | None, name: str | None, chosen: Chosen) -> None:
    """Keep the code under a folder, as a `code` event."""
    if name is not None:
        run.note("log_code", {"name": name})
    folder = Path(root or ".").absolute()
    found = [path for path in _walk(folder) if chosen.takes(path, folder)]
    _record(run, folder, [(path, path.relative_to(folder).as_posix()) for path in found], changes=True)


def begin(run: "Run") -> None:
    """What is recorded of the code when an attempt begins."""
    main = _main_file()
    folder = Path(run.asked.code_dir or (main.parent if main else Path.cwd())).absolute()
    files: list[tuple[Path, str]] = []
    if run.asked.save_code:
        if run.asked.code_dir:
            files = [(p, p.relative_to(folder).as_posix()) for p in _walk(folder) if p.suffix in PYTHON]
        elif main is not None:
            files = [(main, main.name)]
    _record(run, folder, files, changes=run.asked.save_code)


def _record(run: "Run", folder: Path, files: list[tuple[Path, str]], changes: bool) -> None:
    asked = run.asked
    found = git.look(folder) or git.look(Path.cwd()) if asked.git else None
    if len(files) > MAX_FILES:
        run.notices.once("code", f"code: of {len(files)} files the first {MAX_FILES} are kept")
    kept = [file for path, name in files[:MAX_FILES] if (file := _kept(run, path, name))]
    text = found.changes() if found is not None and changes else None
    commit = asked.git_commit or (found and found.commit)
    remote = git.without_user(asked.git_remote_url) or (found and found.remote)
    if commit is None and remote is None and not kept:
        return
    run.record.event(
        "code",
        commit=commit,
        branch=found.branch if found else None,
        remote=remote,
        changes=run.record.blob(_safe(text), "text/x-diff") if text else None,
        files=kept,
    )


def _kept(run: "Run", path: Path, name: str) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            run.notices.once("code size", f"code: {name} is larger than {MAX_FILE_BYTES >> 20} MiB and is left out")
            return None
        blob = run.record.blob(_safe(path.read_text("utf-8", "replace")), "text/x-python")
    except OSError as error:
        run.notices.once(f"code {name}", f"code: {name} cannot be read: {error.strerror or error}")
        return None
    return {"name": name, "blob": blob, "bytes": blob["bytes"]}


def _safe(text: str) -> bytes:
    return redact_text(text)[0].encode("utf-8", "surrogatepass")


def _walk(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(where) / name for name in sorted(names))


def _main_file() -> Path | None:
    name = getattr(sys.modules.get("__main__"), "__file__", None)
    path = Path(name).absolute() if isinstance(name, str) else None
    return path if path is not None and path.is_file() and path.suffix in PYTHON else None


def _ask(function: Callable[..., bool], path: Path, root: Path) -> bool:
    """Some take the path, some the path and the root."""
    two = len(signature(function).parameters) > 1
    return function(str(path), str(root)) if two else function(str(path))
