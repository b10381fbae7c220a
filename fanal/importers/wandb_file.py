"""Reads a `.wandb` file without wandb: `read_wandb` gives everything it holds at once, `WandbReader` what is new.

A file of a killed run is read up to its torn tail; damage before the end is named by byte and skipped. 10,000 rows of
20 values take about 1.5 s. Nothing is written and no network is used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from fanal.errors import RecordError
from fanal.importers import wandb_records
from fanal.importers.findings import Unreadable
from fanal.importers.wandb_frames import CHUNK_BYTES, FILE_HEADER, WandbFrames
from fanal.importers.wandb_records import (
    Alert,
    Artifact,
    Environment,
    Exit,
    Files,
    History,
    Metric,
    Output,
    RunInfo,
    Stats,
    Update,
    WandbRecord,
)

INTERNAL_KEYS = ("_step", "_timestamp")
"""Keys of a row that stand in its step and time."""


@dataclass
class WandbFile:
    """What a `.wandb` file holds."""

    run: RunInfo = field(default_factory=RunInfo)
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    """Nested, as the script gave it; wandb's own entry is `_wandb`."""
    history: list[tuple[int, dict[str, Any]]] = field(default_factory=list[tuple[int, dict[str, Any]]])
    """Step, and values by key; a nested key's names are joined by dots; `_runtime`, `_timestamp`, `_step` are kept.

    What wandb stores as an object with a `_type` (a histogram, an image) is one value again."""
    summary: dict[str, Any] = field(default_factory=dict[str, Any])
    stats: list[Stats] = field(default_factory=list[Stats])
    metrics: list[Metric] = field(default_factory=list[Metric])
    alerts: list[Alert] = field(default_factory=list[Alert])
    artifacts: list[Artifact] = field(default_factory=list[Artifact])
    output: list[Output] = field(default_factory=list[Output])
    files: list[str] = field(default_factory=list[str])
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    exit_code: int | None = None
    """None where the run never ended in good order."""
    tail: str = "whole"
    """`whole`, `torn` (the last record is cut short) or `corrupt` (something before the end cannot be read)."""
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])


class WandbReader:
    """The records of a file from a byte on; `offset` is the byte after the last one read."""

    def __init__(self, path: Path, offset: int = 0, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.offset = offset
        self._frames = WandbFrames(path, offset, chunk_bytes=chunk_bytes)

    @property
    def unreadable(self) -> list[Unreadable]:
        """What could not be read so far."""
        return self._frames.unreadable

    @property
    def torn_bytes(self) -> int:
        """Bytes after the last whole record, when last read."""
        return self._frames.torn_bytes

    def read(self) -> Iterator[WandbRecord]:
        """Every whole record that has not been read yet."""
        for end, payload in self._frames.read():
            try:
                record = wandb_records.decode(payload)
            except ValueError as error:
                self.unreadable.append(Unreadable(f"byte {self.offset}", f"a record says nothing known: {error}"))
                self.offset = end
                continue
            self.offset = end
            yield record


def read_wandb(path: Path | str) -> WandbFile:
    """Everything that a `.wandb` file, or the one in a run's folder, holds.

    Raises:
        RecordError: there is no such file.
    """
    reader = WandbReader(find_wandb(Path(path)))
    found = WandbFile()
    for record in reader.read():
        _take(found, record)
    found.unreadable = reader.unreadable
    found.tail = "corrupt" if reader.unreadable else "torn" if reader.torn_bytes else "whole"
    return found


def find_wandb(path: Path) -> Path:
    """The `.wandb` file that `path` is, or holds.

    Raises:
        RecordError: there is none, or more than one.
    """
    if path.is_file():
        return path
    found = sorted(path.glob("*.wandb")) if path.is_dir() else []
    if len(found) != 1:
        what = f"{len(found)} .wandb files" if path.is_dir() else "nothing"
        raise RecordError(f"{path}: expected a .wandb file or a run's folder that holds one, found {what}")
    return found[0]


def is_wandb(path: Path) -> bool:
    """Whether a file begins like one of wandb's, as far as it goes."""
    with path.open("rb") as file:
        head = file.read(len(FILE_HEADER))
    return FILE_HEADER.startswith(head)


def _take(found: WandbFile, record: WandbRecord) -> None:
    match record:
        case History():
            found.history.append(row(record))
        case Update(of="config"):
            apply(found.config, record)
        case Update():
            apply(found.summary, record)
        case RunInfo():
            found.run = record
            apply(found.config, record.config)
            apply(found.summary, record.summary)
        case Stats():
            found.stats.append(record)
        case Metric():
            found.metrics.append(record)
        case Alert():
            found.alerts.append(record)
        case Artifact():
            found.artifacts.append(record)
        case Output():
            found.output.append(record)
        case Files():
            found.files += record.names
        case Environment():
            found.environment |= record.values
        case Exit():
            found.exit_code = record.code
        case _:
            pass


def row(record: History) -> tuple[int, dict[str, Any]]:
    """The step of a history record and its values by key."""
    typed = {path[:-1] for path, _ in record.items if len(path) > 1 and path[-1] == "_type"}
    values: dict[str, Any] = {}
    for path, value in record.items:
        whole = next((path[:n] for n in range(1, len(path)) if path[:n] in typed), None) if typed else None
        if whole is None:
            values[".".join(path)] = value
        else:
            inner = values.setdefault(".".join(whole), {})
            apply(inner, Update("history", [(path[len(whole) :], value)], []))
    step = record.step if record.step is not None else values.get("_step")
    return (step if isinstance(step, int) else 0), values


def apply(target: dict[str, Any], update: Update) -> None:
    """Set and remove names in a nested mapping."""
    for path, value in update.items:
        inner = target
        for name in path[:-1]:
            inner = _inner(inner, name)
        inner[path[-1] if path else ""] = value
    for path in update.removed:
        holder: Any = target
        for name in path[:-1]:
            holder = cast("dict[str, Any]", holder).get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and path:
            cast("dict[str, Any]", holder).pop(path[-1], None)


def _inner(target: dict[str, Any], name: str) -> dict[str, Any]:
    found = target.get(name)
    if not isinstance(found, dict):
        found = target[name] = dict[str, Any]()
    return cast("dict[str, Any]", found)
