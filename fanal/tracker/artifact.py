"""`Artifact`: a named set of files, put together by a script and recorded by hash when it is logged.

Files are read when the artifact is logged (their names are checked when they are added). Once logged it knows its
version; `download` puts the files of a logged one into a folder.
"""

import io
import weakref
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from fanal.record.blobs import read_blob
from fanal.record.values import BlobRef
from fanal.tracker.errors import UsageError
from fanal.tracker.keep import safe_name, walk


@dataclass(frozen=True)
class Entry:
    """One file of an artifact."""

    path: str
    """Its name inside the artifact."""
    local_path: Path | None = None
    """Where it is read from."""
    ref: str | None = None
    """An address in its place."""
    obj: Any = None
    """A medium in its place."""


class Artifact:
    """A named set of files."""

    def __init__(
        self,
        name: str,
        type: str = "unspecified",
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        incremental: bool = False,
        use_as: str | None = None,
        storage_region: str | None = None,
        **ignored: Any,
    ) -> None:
        del ignored
        self.given = {"incremental": incremental or None, "use_as": use_as, "storage_region": storage_region}
        self.base_name = safe_name(str(name)).replace("/", "-")
        self.type = str(type)
        self.description = description
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.aliases: list[str] = []
        self.tags: list[str] = []
        self.ttl: Any = None
        self.number: int | None = None
        """Its version, once it is logged."""
        self.record: Path | None = None
        """The record that holds it."""
        self.kept: list[dict[str, Any]] = []
        """Name, bytes, and blob or SHA-256 of each file, once it is logged."""
        self.entries: dict[str, Entry] = {}

    @property
    def version(self) -> str:
        """`v0`, `v1`, …; `latest` before it is logged."""
        return "latest" if self.number is None else f"v{self.number}"

    @property
    def name(self) -> str:
        """The name, and the version once there is one."""
        return self.base_name if self.number is None else f"{self.base_name}:{self.version}"

    @property
    def size(self) -> int:
        """Bytes of all files, once it is logged."""
        return sum(file["bytes"] for file in self.kept)

    def add_file(self, local_path: Any, name: str | None = None, *_: Any, **__: Any) -> Entry:
        """Add a file.

        Raises:
            UsageError: it is not there, or its name leads outside of the artifact.
        """
        path = Path(local_path)
        if not path.is_file():
            raise UsageError(f"artifact {self.base_name}: {path} is no file")
        return self._add(Entry(safe_name(name or path.name), path.absolute()))

    def add_dir(self, local_path: Any, name: str | None = None, *_: Any, **__: Any) -> None:
        """Add the files of a folder, under `name` or at the top; links that lead out of it are left out.

        Raises:
            UsageError: it is no folder.
        """
        folder = Path(local_path)
        if not folder.is_dir():
            raise UsageError(f"artifact {self.base_name}: {folder} is no folder")
        for path, inner in walk(folder):
            self._add(Entry(safe_name(f"{name}/{inner}" if name else inner), path.absolute()))

    @contextmanager
    def new_file(self, name: str, mode: str = "x", encoding: str | None = None, **_: Any) -> Generator[IO[Any]]:
        """A file to write into, added when it is closed."""
        folder = import_module("tempfile").mkdtemp(prefix="fanal-artifact-")  # 10 ms that most scripts need not
        weakref.finalize(self, import_module("shutil").rmtree, folder, ignore_errors=True)
        path = Path(folder) / "file"
        binary = "b" in mode
        with path.open(mode.replace("r", "w"), encoding=None if binary else encoding or "utf-8") as file:
            yield file
        self._add(Entry(safe_name(name), path))

    def add(self, obj: Any, name: Any, overwrite: bool = False) -> Entry:
        """Add a medium (a table, an image, …) under a name."""
        del overwrite
        return self._add(Entry(safe_name(str(name)), obj=obj))

    def add_reference(self, uri: Any, name: Any = None, *_: Any, **__: Any) -> list[Entry]:
        """Add an address: it is recorded, and nothing is read from it."""
        address = str(uri)
        last = address.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1] or "reference"
        return [self._add(Entry(safe_name(str(name or last)), ref=address))]

    def remove(self, item: Any) -> None:
        """Leave a file out again."""
        self.entries.pop(getattr(item, "path", None) or str(item), None)

    def wait(self, timeout: Any = None) -> "Artifact":
        """Itself: it is recorded when `log_artifact` returns."""
        del timeout
        return self

    def save(self, *_: Any, **__: Any) -> None:
        """Nothing: `log_artifact` records it."""

    def finalize(self) -> None:
        """Nothing: what is logged is read then."""

    def is_draft(self) -> bool:
        """Whether it is not logged yet."""
        return self.number is None

    def get_entry(self, name: Any) -> Entry:
        """A file by its name.

        Raises:
            KeyError: there is none.
        """
        return self.entries[str(name)]

    get_path = get_entry

    def files(self) -> list[str]:
        """The names of its files."""
        return list(self.entries)

    def download(self, root: Any = None, *_: Any, **__: Any) -> str:
        """Put the files into a folder; its path.

        Raises:
            UsageError: it is not logged yet.
            RecordError: a file's content is missing, redacted or was too large to be kept.
        """
        if self.record is None:
            raise UsageError(f"artifact {self.base_name} is not logged yet: log it, or use_artifact one that is")
        folder = Path(root) if root is not None else Path("artifacts") / self.name.replace(":", "-")
        for file in self.kept:
            if file.get("blob"):
                path = folder / safe_name(file["name"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(read_blob(self.record, BlobRef(file["blob"])))
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _add(self, entry: Entry) -> Entry:
        self.entries[entry.path] = entry
        return entry


def text_of(stream: Any) -> str:
    """What a path or an open file holds, as text."""
    if isinstance(stream, io.IOBase) or hasattr(stream, "read"):
        content = stream.read()
        return content.decode("utf-8", "replace") if isinstance(content, bytes) else str(content)
    return Path(stream).read_text("utf-8")
