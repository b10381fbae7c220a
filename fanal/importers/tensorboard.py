"""TensorBoard log folders as runs: a folder with event files is a run, its id made of the path below the log folder.

Files of a folder are read in order of their own first time, never of the listing. A later file that logs keys which
earlier ones have is a restart: an attempt, from the step where its most frequent such key begins; what it supersedes
stays readable by attempt. A file with keys of its own belongs to the attempt before. Every point is kept, as float32.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fanal.errors import RecordError
from fanal.importers.event_columns import ScalarColumns
from fanal.importers.event_file import Chunk, EventFile, holds_records
from fanal.importers.event_items import hyperparameters, items_of
from fanal.importers.findings import Findings
from fanal.importers.items import About, Batch, Begin, Cursor, Fact, Item, Row
from fanal.importers.lines import HEAD_BYTES, Head

BATCH_ITEMS = 10_000
PATTERN = "*tfevents*"
QUIET_SECONDS = 30.0
"""With `--live`, how long a file that has only begun is waited for."""
MAX_SINGLE_KEYS = 500
"""With more keys in a file, points of one step share a row and its time."""
TOGETHER = f"more than {MAX_SINGLE_KEYS} keys: points of one step that follow each other have the first one's time"


class TensorboardRun:
    """The event files of one folder."""

    def __init__(self, paths: list[Path], about: About, live: bool) -> None:
        self._live = live
        self._times: dict[Path, tuple[float, str]] = {}
        self.findings = Findings()
        self.paths = paths
        self._about = about
        self._states: dict[str, dict[str, Any]] = {}
        self._files: dict[str, EventFile] = {}

    def about(self) -> About:
        """What the run is called."""
        return self._about

    def owns(self, cursor: Cursor) -> bool:
        """Whether an earlier import read one of these files."""
        states: dict[str, dict[str, Any]] = cursor["files"]
        known = [(path, states[path.name]) for path in self.paths if path.name in states]
        return cursor.get("run") == self._about.id and any(Head.from_json(s["head"]).fits(p) for p, s in known)

    def cursor(self) -> Cursor:
        """The place in each file."""
        states = self._states
        if not states:
            first = min(self.paths, key=self._time_of)
            states = {first.name: _beginning(first)}
        return {"run": self._about.id, "files": {name: dict(state) for name, state in states.items()}}

    def seek(self, cursor: Cursor) -> None:
        """Go on from an earlier import."""
        self._states = dict(cursor["files"])

    def close(self) -> None:
        """A file is no longer waited for until it shows what it is."""
        self._live = False

    def renew(self, found: "TensorboardRun") -> None:
        """Read also the files that a later look found."""
        self.paths = found.paths

    def read(self) -> Iterator[Batch]:
        """What the files hold that is new."""
        for path in sorted(self.paths, key=self._time_of):
            if path.name not in self._states:
                begin, known = self._restart(path)
                if not known:
                    return  # later files come after it
                self._states[path.name] = _beginning(path)
                if begin is not None:
                    yield Batch([], self.cursor(), begin)
            yield from self._read(path, self._states[path.name])
        self.findings.torn_bytes = sum(file.torn_bytes for file in self._files.values())

    def _read(self, path: Path, state: dict[str, Any]) -> Iterator[Batch]:
        file = self._files.setdefault(path.name, EventFile(path, state["offset"]))
        if path.stat().st_size == file.offset + file.torn_bytes:
            return
        for chunk in file.read():
            items = self._items(chunk)
            state["offset"] = chunk.end
            if state["head"][0] < HEAD_BYTES:
                state["head"] = Head.of(path).to_json()
            for start in range(0, max(len(items) - BATCH_ITEMS, 0), BATCH_ITEMS):
                yield Batch(items[start : start + BATCH_ITEMS], self.cursor())
            yield Batch(items[-(len(items) % BATCH_ITEMS or BATCH_ITEMS) :], self.cursor())
        new = [one for one in file.unreadable if one not in self.findings.unreadable]
        self.findings.unreadable += new

    def _items(self, chunk: Chunk) -> list[Item]:
        columns = chunk.columns
        if len(columns.tags) > MAX_SINGLE_KEYS and TOGETHER not in self.findings.notes:
            self.findings.notes.append(TOGETHER)
        where = np.flatnonzero(columns.tag_ids >= 0)
        if not chunk.others:
            return _rows(columns, where)
        merged: list[Item] = []
        done = 0
        for place, event in chunk.others:
            before = int(np.searchsorted(where, place))
            merged += _rows(columns, where[done:before])
            done = before
            for value in event.values:
                if value.plugin == "hparams" and (config := hyperparameters(value.content)):
                    self._about.config = {**(self._about.config or {}), **config}
                    merged.append(Fact("config", {"config": dict(self._about.config)}))
            merged += items_of(event)
        return merged + _rows(columns, where[done:])

    def _time_of(self, path: Path) -> tuple[float, str]:
        if path not in self._times:
            found = _began(path)
            if found[0] == float("inf"):
                return found
            self._times[path] = found
        return self._times[path]

    def _restart(self, path: Path) -> tuple[Begin | None, bool]:
        """Where the attempt begins that a file is, if it is one, and whether that can be told yet.

        The first file is none, and none that has only keys of its own. While a file has no key twice, it may only have
        begun.
        """
        if not self._states:
            return None, True
        earlier = {tag for name in self._states for tag in _first_steps(self._path(name))[0]}
        steps, counts, session = _first_steps(path)
        if session is not None:
            return Begin(session), True
        if self._live and max(counts.values(), default=0) < 2 and time.time() - path.stat().st_mtime < QUIET_SECONDS:
            return None, False
        shared = [tag for tag in steps if tag in earlier]
        if not shared:
            return None, True
        main = max(shared, key=lambda tag: (counts[tag], -steps[tag]))
        hidden = sum(steps[tag] < steps[main] for tag in steps)
        if hidden:
            hidden_keys = f"{hidden} of its keys have earlier points: kept, not shown"
            self.findings.notes.append(f"{path.name} goes on at step {steps[main]}; {hidden_keys}")
        return Begin(steps[main]), True

    def _path(self, name: str) -> Path:
        return next((path for path in self.paths if path.name == name), self.paths[0].with_name(name))


def _beginning(path: Path) -> dict[str, Any]:
    """What a cursor keeps of a file of which nothing has been read."""
    return {"head": Head.of(path).to_json(), "offset": 0}


def _rows(columns: ScalarColumns, where: NDArray[np.int64]) -> list[Item]:
    names = [tag.decode("utf-8", "replace") for tag in columns.tags]
    ids: list[int] = columns.tag_ids[where].tolist()
    tags = [names[number] for number in ids]
    times = _nanoseconds(columns.wall_times[where])
    steps: list[int] = columns.steps[where].tolist()
    values: list[float] = columns.values[where].tolist()
    found = zip(steps, times, tags, values, strict=True)
    if len(names) > MAX_SINGLE_KEYS:
        return _together(found)
    return [Row(step, time_ns, {tag: value}) for step, time_ns, tag, value in found]


def _together(points: Iterable[tuple[int, int, str, float]]) -> list[Item]:
    """Points of one step that follow each other as one row, with the first one's time."""
    rows: list[Item] = []
    held: dict[str, float] = {}
    last, first_ns = 0, 0
    for step, time_ns, tag, value in points:
        if held and (step != last or tag in held):
            rows.append(Row(last, first_ns, held))
            held = {}
        if not held:
            last, first_ns = step, time_ns
        held[tag] = value
    return [*rows, Row(last, first_ns, held)] if held else rows


def _nanoseconds(seconds: NDArray[np.float64]) -> list[int]:
    """As `times.from_seconds`, of many."""
    known = np.where(np.isfinite(seconds) & (np.abs(seconds) < 9e9), seconds, 0.0)
    whole = np.floor(known)
    return (whole.astype(np.int64) * 10**9 + np.rint((known - whole) * 1e9).astype(np.int64)).tolist()


def _began(path: Path) -> tuple[float, str]:
    """When a file says that it began: the time of its first record."""
    for chunk in EventFile(path).read_first():
        times = [event.wall_time for place, event in chunk.others if place == 0]
        times += chunk.columns.wall_times[:1].tolist()
        if known := [time for time in times if time] or times:
            return (min(known), path.name)
    return (float("inf"), path.name)


def _first_steps(path: Path) -> tuple[dict[str, int], Counter[str], int | None]:
    """By key its first step and number of points in a file, and the step at which it says that a session starts."""
    steps: dict[str, int] = {}
    counts: Counter[str] = Counter()
    session: int | None = None
    if not path.is_file():
        return steps, counts, session
    for chunk in EventFile(path).read():
        columns = chunk.columns
        names = [tag.decode("utf-8", "replace") for tag in columns.tags]
        for number, name in enumerate(names):
            found = columns.steps[columns.tag_ids == number]
            if len(found):
                steps[name] = min(steps.get(name, int(found[0])), int(found.min()))
                counts[name] += len(found)
        for _, event in chunk.others:
            if event.restarts and session is None and not counts:
                session = event.step
            for value in event.values:
                if value.scalar is not None or (value.tensor is not None and value.tensor.shape == ()):
                    steps[value.tag] = min(steps.get(value.tag, event.step), event.step)
                    counts[value.tag] += 1
    return steps, counts, session


def find_runs(source: Path, live: bool = False) -> dict[str, TensorboardRun]:
    """The runs of a log folder, by their path below it.

    Raises:
        RecordError: there is no such folder, or the file is no event file.
    """
    if not source.exists():
        raise RecordError(f"{source}: expected a folder with event files, found nothing")
    if source.is_file() and not holds_records(source):
        raise RecordError(f"{source} is no event file: it does not begin with a record")
    found = [source] if source.is_file() else sorted(p for p in source.rglob(PATTERN) if p.is_file())
    root = source.parent if source.is_file() else source
    by_folder: dict[Path, list[Path]] = {}
    for path in found:
        if path.stat().st_size or not live:
            by_folder.setdefault(path.parent, []).append(path)
    return {folder.as_posix(): TensorboardRun(paths, _about(root, folder), live) for folder, paths in by_folder.items()}


def _about(root: Path, folder: Path) -> About:
    below = folder.relative_to(root).as_posix()
    return About(root.resolve().name if below == "." else below.replace("/", "-"), name=below)
