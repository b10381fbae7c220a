"""wandb's offline files as runs: rows, config, summary, metrics, alerts, artifacts, system metrics, console, files.

Files of one run id are its attempts, in order of their start. System metrics go to `system/…`, by time. Host, user,
path and arguments go to an event that is withheld from publication. Numbers stand as wandb wrote them (2.0 as 2).
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from fanal.errors import RecordError
from fanal.importers.columns import flat
from fanal.importers.findings import Findings
from fanal.importers.items import About, Batch, Begin, Content, Cursor, Fact, Item, Row, split
from fanal.importers.lines import HEAD_BYTES, Head
from fanal.importers.media import of_wandb
from fanal.importers.times import from_seconds
from fanal.importers.wandb_file import INTERNAL_KEYS, WandbReader, apply, is_wandb, row
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

BATCH_ITEMS = 2000
HEAD_CHUNK_BYTES = 64 << 10
SYSTEM = "system/"
MAX_FILE_BYTES = 64 << 20
"""A saved file that is larger is named and not kept."""


class WandbRun:
    """The `.wandb` files of one run id."""

    def __init__(self, paths: list[Path], live: bool) -> None:
        self._live = live
        self.findings = Findings()
        self.paths = paths
        self._files: dict[str, dict[str, Any]] = {}
        """By file: what the cursor keeps of it."""
        self._readers: dict[str, WandbReader] = {}
        self._info = run_info(paths[0]) or RunInfo()
        self._config: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._summary: dict[str, Any] = {}
        self._output: list[str] = []

    def about(self) -> About:
        """What the run said of itself, and how it ended."""
        info = self._info
        code = next((state["exit"] for state in reversed(self._files.values())), None)
        outcome = "interrupted" if code is None else "finished" if code == 0 else "failed"
        reason = "the source has no end" if code is None else f"exit code {code}" if code else None
        return About(
            info.run_id or self.paths[0].stem.removeprefix("run-"),
            info.name or None,
            info.project or None,
            info.group or None,
            info.job_type or None,
            tuple(info.tags),
            info.notes or None,
            self._config_now(info),
            outcome,
            reason,
        )

    def owns(self, cursor: Cursor) -> bool:
        """Whether an earlier import read one of these files."""
        states = cast("dict[str, dict[str, Any]]", cursor["files"])
        known = ((path, states[_name(path)]) for path in self.paths if _name(path) in states)
        return any(Head.from_json(state["head"]).fits(path) for path, state in known)

    def cursor(self) -> Cursor:
        """The place in each file."""
        first = {} if self._files else {_name(self.paths[0]): _beginning(self.paths[0])}
        return {"run_id": self._info.run_id, "files": first | {n: dict(state) for n, state in self._files.items()}}

    def seek(self, cursor: Cursor) -> None:
        """Go on from an earlier import."""
        self._files = dict(cursor["files"])
        for path in self.paths:
            if _name(path) in self._files:
                self._info = run_info(path) or self._info

    def close(self) -> None:
        """A file without a row is no longer waited for."""
        self._live = False

    def renew(self, found: "WandbRun") -> None:
        """Read also the files that a later look found."""
        self.paths = found.paths

    def read(self) -> Iterator[Batch]:
        """What the files hold that is new."""
        self.findings.torn_bytes = 0
        for path in self.paths:
            name = _name(path)
            if name not in self._files:
                begin = self._begin(path) if self._files else None
                if self._files and begin is None:
                    return
                self._info, self._config = run_info(path) or self._info, {}
                self._files[name] = _beginning(path)
                if begin is not None:
                    yield Batch([], self.cursor(), begin)
            yield from self._read(path, self._files[name])

    def _begin(self, path: Path) -> Begin | None:
        """Where the attempt of a later file begins; None while it has no row yet and may still get one."""
        first = next((row(r)[0] for r in WandbReader(path).read() if isinstance(r, History)), None)
        if first is None and not self._live:
            first = 1 + max(int(state["step"]) for state in self._files.values())
        return None if first is None else Begin(first)

    def _read(self, path: Path, state: dict[str, Any]) -> Iterator[Batch]:
        reader = self._readers.setdefault(_name(path), WandbReader(path, state["offset"]))
        items: list[Item] = []
        started = reader.offset
        for record in reader.read():
            items += self._items(path, state, record)
            if len(items) >= BATCH_ITEMS:
                state["offset"] = reader.offset
                yield Batch(items, self.cursor())
                items = []
        self.findings.torn_bytes += reader.torn_bytes
        self.findings.unreadable += [one for one in reader.unreadable if one not in self.findings.unreadable]
        if reader.offset != started:
            state["offset"] = reader.offset
            if state["head"][0] < HEAD_BYTES:
                state["head"] = Head.of(path).to_json()
            yield Batch(items + self._at_end(started), self.cursor())

    def _at_end(self, started: int) -> list[Item]:
        """What is said once a pass: the summary as far as rows do not say it, and the console's text."""
        said: list[Item] = []
        values = {key: value for key, value in flat(self._summary).items() if not _same(value, self._last.get(key))}
        if values:
            said.append(Fact("summary", {"values": values}))
        if self._output:
            data = "".join(self._output).encode("utf-8", "surrogatepass")
            name = "output.log" if started == 0 else f"output-{started}.log"
            said.append(Fact("file", {"name": name, "bytes": len(data), "blob": Content(data)}))
        self._summary, self._output = {}, []
        return said

    def _items(self, path: Path, state: dict[str, Any], record: WandbRecord) -> list[Item]:
        match record:
            case History():
                return self._row(path, state, record)
            case Update(of="summary"):
                top = Update("summary", [one for one in record.items if one[0][:1] not in _OWN_NAMES], [])
                apply(self._summary, top)
            case Update():
                self._config = _config_of(path)
                return [Fact("config", {"config": self._config})]
            case Stats():
                return self._stats(state, record)
            case Output():
                self._output.append(record.text)
            case Files():
                return [fact for name in record.names if (fact := _file(path, name)) is not None]
            case Exit():
                state["exit"] = record.code
            case RunInfo():
                return _settings(record)
            case Metric() | Alert() | Artifact() | Environment():
                return _facts(record, int(state["time_ns"]))
            case _:
                pass
        return []

    def _row(self, path: Path, state: dict[str, Any], record: History) -> list[Item]:
        step, values = row(record)
        stamp = values.get("_timestamp")
        time_ns = from_seconds(stamp) if isinstance(stamp, int | float) else 0
        state["step"], state["time_ns"] = step, time_ns
        kept = {key: value for key, value in values.items() if key not in INTERNAL_KEYS}
        self._last |= kept
        folder = path.resolve().parent / "files"
        return split(step, time_ns, {key: of_wandb(value, folder) for key, value in kept.items()})

    def _stats(self, state: dict[str, Any], record: Stats) -> list[Item]:
        values = {SYSTEM + key: value for key, value in record.items if isinstance(value, int | float)}
        said: list[Item] = [] if state["stats"] else [Fact("metric", {"pattern": f"{SYSTEM}*", "axis": "time"})]
        state["stats"] = True
        return [*said, Row(int(state["step"]), record.time_ns, values)] if values else said

    def _config_now(self, info: RunInfo) -> Mapping[str, Any] | None:
        if not self._config:
            apply(self._config, info.config)
        return {key: value for key, value in self._config.items() if key != "_wandb"} or None


_OWN_NAMES = (("_step",), ("_timestamp",), ("_wandb",), ("_runtime",))


def _beginning(path: Path) -> dict[str, Any]:
    """What a cursor keeps of a file of which nothing has been read."""
    return {"head": Head.of(path).to_json(), "offset": 0, "exit": None, "step": 0, "time_ns": 0, "stats": False}


def _name(path: Path) -> str:
    """A file's name in a cursor: with its folder, since files of one run have the same."""
    return f"{path.resolve().parent.name}/{path.name}"


def _same(value: Any, last: Any) -> bool:
    both = isinstance(value, float) and isinstance(last, float) and math.isnan(value) and math.isnan(last)
    return both or value == last


def run_info(path: Path) -> RunInfo | None:
    """What a file says of its run; None while it says nothing."""
    records = WandbReader(path, chunk_bytes=HEAD_CHUNK_BYTES).read()
    return next((record for record in records if isinstance(record, RunInfo)), None)


def _config_of(path: Path) -> dict[str, Any]:
    """The whole config that a file holds by now; a change of it is rare."""
    config: dict[str, Any] = {}
    for record in WandbReader(path).read():
        if isinstance(record, RunInfo):
            apply(config, record.config)
        elif isinstance(record, Update) and record.of == "config":
            apply(config, record)
    config.pop("_wandb", None)
    return config


def _settings(info: RunInfo) -> list[Item]:
    given = {"entity": info.entity, "sweep_id": info.sweep_id, "resumed": info.resumed, "branch": info.branch}
    said: list[Item] = [Fact("settings", {"call": "wandb", "given": {k: v for k, v in given.items() if v}})]
    return said + _code(info.git_commit, info.git_remote)


def _code(commit: str, remote: str) -> list[Item]:
    return [Fact("code", {"commit": commit, "remote": remote or None, "files": []})] if commit else []


def _facts(record: Metric | Alert | Artifact | Environment, time_ns: int) -> list[Item]:
    match record:
        case Metric():
            fields: dict[str, Any] = {"pattern": record.glob or record.name, "step_metric": record.step_metric or None}
            fields |= {"summary": next(iter(record.summary), None), "goal": record.goal or None}
            return [Fact("metric", {**fields, "hidden": record.hidden or None}, None, time_ns)]
        case Alert():
            level = {"WARN": "warn", "ERROR": "error"}.get(record.level.upper(), "info")
            text = Content(record.text.encode("utf-8", "surrogatepass"))
            return [Fact("alert", {"title": record.title, "text": text, "level": level}, None, time_ns)]
        case Artifact():
            metadata = cast("dict[str, Any]", record.metadata) if isinstance(record.metadata, dict) else {}
            fields = {"name": record.name, "type": record.type, "aliases": record.aliases, "files": record.files}
            fields |= {"direction": record.direction, "description": record.description or None, "metadata": metadata}
            return [Fact("artifact", fields, None, time_ns)]
        case Environment():
            return _environment(record.values)


def _environment(values: Mapping[str, Any]) -> list[Item]:
    if "python" not in values:
        return []  # wandb adds a second record with what its sampler found
    devices = {name: values[name] for name in ("cpu_count", "gpu_type", "gpu_count", "cuda_version") if name in values}
    public = {"python": values.get("python", ""), "platform": values.get("os", ""), "packages": {}, "devices": devices}
    process: dict[str, Any] = {
        "argv": [values.get("program", ""), *values["args"]],
        "executable": values.get("executable", ""),
        "folder": values.get("root", ""),
        "host": values.get("host", ""),
        "user": values.get("username"),
        "environment": {},
    }
    said: list[Item] = [Fact("environment", public), Fact("process", process)]
    return said + _code(values.get("git_commit", ""), values.get("git_remote", ""))


def _file(path: Path, name: str) -> Fact | None:
    """A file that the run saved, where it lies beside the `.wandb` file."""
    folder = (path.resolve().parent / "files").resolve()
    saved = (folder / name).resolve()
    if not saved.is_relative_to(folder) or not saved.is_file():
        return None
    size = saved.stat().st_size
    if size > MAX_FILE_BYTES:
        return Fact("file", {"name": name, "bytes": size, "blob": None})
    data = saved.read_bytes()
    return Fact("file", {"name": name, "bytes": len(data), "blob": Content(data, "application/octet-stream")})


def find_runs(source: Path, live: bool = False) -> dict[str, WandbRun]:
    """The runs of a `.wandb` file, a run's folder, or a folder `wandb` with many, by run id.

    Raises:
        RecordError: there is no such file.
    """
    if not source.exists():
        raise RecordError(f"{source}: expected a .wandb file, a run's folder or a folder with runs, found nothing")
    found = [source] if source.is_file() else [p for g in _PLACES for p in sorted(source.glob(g))]
    paths = list({path.resolve(): path for path in found}.values())
    by_id: dict[str, list[tuple[int, Path]]] = {}
    for path in paths:
        info = run_info(path)
        if info is None and live:
            continue
        if info is None and not is_wandb(path):
            raise RecordError(f"{path}: is no .wandb file, its first bytes are not those of one")
        run_id = info.run_id if info else path.stem
        by_id.setdefault(run_id, []).append((info.start_ns if info else 0, path))
    return {run_id: WandbRun([path for _, path in sorted(files)], live) for run_id, files in by_id.items()}


_PLACES = ("*.wandb", "*run-*/*.wandb", "wandb/*run-*/*.wandb")
