"""The records of a `.wandb` file as types: what each protocol-buffer message says, decoded by field number.

Values keep their types: bare NaN and Infinity, integers of any size. A key inside a key is a tuple of names. A message
that cannot be decoded is a ValueError.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fanal.importers import protobuf
from fanal.importers.protobuf import Raw, fields, message, text

Path = tuple[str, ...]
"""A key, outermost name first."""


@dataclass
class History:
    """One row."""

    step: int | None
    items: list[tuple[Path, Any]]


@dataclass
class Update:
    """Names and values that were set or removed, in the summary (`of` is "summary") or the config ("config")."""

    of: str
    items: list[tuple[Path, Any]]
    removed: list[Path]


@dataclass
class RunInfo:
    """What the run said of itself."""

    run_id: str = ""
    entity: str = ""
    project: str = ""
    group: str = ""
    job_type: str = ""
    name: str = ""
    notes: str = ""
    tags: list[str] = field(default_factory=list[str])
    host: str = ""
    sweep_id: str = ""
    starting_step: int = 0
    start_ns: int = 0
    resumed: bool = False
    git_remote: str = ""
    git_commit: str = ""
    branch: tuple[str, float, str] | None = None
    """Run, value and metric at which it was forked or rewound."""
    config: Update = field(default_factory=lambda: Update("config", [], []))
    summary: Update = field(default_factory=lambda: Update("summary", [], []))


@dataclass
class Stats:
    """One sample of the system's metrics."""

    time_ns: int
    items: list[tuple[str, Any]]


@dataclass
class Metric:
    """A `define_metric` call."""

    name: str = ""
    glob: str = ""
    step_metric: str = ""
    hidden: bool = False
    step_sync: bool = False
    summary: list[str] = field(default_factory=list[str])
    goal: str = ""


@dataclass
class Alert:
    """An `alert` call."""

    title: str = ""
    text: str = ""
    level: str = ""


@dataclass
class Artifact:
    """An artifact that was logged (`direction` is "logged") or used ("used")."""

    direction: str = "logged"
    name: str = ""
    type: str = ""
    digest: str = ""
    description: str = ""
    metadata: Any = None
    aliases: list[str] = field(default_factory=list[str])
    files: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass
class Output:
    """Text that the process printed."""

    stream: str
    time_ns: int
    text: str


@dataclass
class Files:
    """Names of files that were saved, relative to the run's folder `files`."""

    names: list[str]


@dataclass
class Environment:
    """What the run ran on."""

    values: dict[str, Any]


@dataclass
class Exit:
    """The run ended in good order."""

    code: int


@dataclass
class Unread:
    """A record that carries no data of the run: its field number."""

    number: int


WandbRecord = (
    History | Update | RunInfo | Stats | Metric | Alert | Artifact | Output | Files | Environment | Exit | Unread
)


def decode(payload: bytes) -> WandbRecord:
    """What a record says.

    Raises:
        ValueError: it is no message, or one of another shape.
    """
    for number, raw in fields(payload):
        if number in _DECODERS:
            return _DECODERS[number](message(raw))
    others = [number for number, _ in fields(payload) if number not in (1, 16, 19, 200)]
    return Unread(others[0] if others else 0)


def _history(data: bytes) -> History:
    step, items = None, list[tuple[Path, Any]]()
    for number, raw in fields(data):
        if number == 1:
            items.append(_item(message(raw)))
        elif number == 2:
            step = next((protobuf.signed(r) for n, r in fields(message(raw)) if n == 1), 0)
    return History(step, items)


def _item(data: bytes) -> tuple[Path, Any]:
    path, value = list[str](), None
    for number, raw in fields(data):
        if number in (1, 2):
            path.append(text(raw))
        elif number in _VALUES:
            value = _VALUES[number](raw)
    return tuple(path), value


def read_json(words: str) -> Any:
    """A JSON value with NaN and Infinity; what cannot be read is kept as its text, marked.

    An integer of more digits than Python converts is such a one.
    """
    try:
        return json.loads(words)
    except (ValueError, RecursionError) as error:
        return {"$repr": words[:2000], "type": f"unreadable JSON: {type(error).__name__}"}


_VALUES: dict[int, Callable[[Raw], Any]] = {
    3: lambda _: None,
    4: lambda raw: bool(raw),
    5: lambda raw: (protobuf.integer(raw) >> 1) ^ -(protobuf.integer(raw) & 1),
    6: protobuf.float64,
    7: text,
    8: lambda raw: read_json(text(raw)),
    16: lambda raw: read_json(text(raw)),
}


def _update(of: str) -> Callable[[bytes], Update]:
    def read(data: bytes) -> Update:
        changed = [_item(message(raw)) for number, raw in fields(data) if number == 1]
        removed = [_item(message(raw))[0] for number, raw in fields(data) if number == 2]
        return Update(of, changed, removed)

    return read


def _time(data: bytes) -> int:
    numbers = {number: protobuf.signed(raw) for number, raw in fields(data)}
    return numbers.get(1, 0) * 10**9 + numbers.get(2, 0)


_RUN_TEXTS = {1: "run_id", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 12: "sweep_id"}


def _run(data: bytes) -> RunInfo:
    run = RunInfo()
    for number, raw in fields(data):
        if number in _RUN_TEXTS:
            setattr(run, _RUN_TEXTS[number], text(raw))
        elif number == 4:
            run.config = _update("config")(message(raw))
        elif number == 5:
            run.summary = _update("summary")(message(raw))
        elif number == 10:
            run.tags.append(text(raw))
        elif number == 13:
            run.host = text(raw)
        elif number == 14:
            run.starting_step = protobuf.signed(raw)
        elif number == 17:
            run.start_ns = _time(message(raw))
        elif number == 18:
            run.resumed = bool(raw)
        elif number == 21:
            git = {n: text(r) for n, r in fields(message(raw))}
            run.git_remote, run.git_commit = git.get(1, ""), git.get(2, "")
        elif number == 23:
            run.branch = _branch(message(raw))
    return run


def _branch(data: bytes) -> tuple[str, float, str]:
    found = dict(fields(data))
    value = protobuf.float64(found[2]) if 2 in found else 0.0
    return text(found.get(1, b"")), value, text(found.get(3, b""))


def _stats(data: bytes) -> Stats:
    time_ns, items = 0, list[tuple[str, Any]]()
    for number, raw in fields(data):
        if number == 2:
            time_ns = _time(message(raw))
        elif number == 3:
            path, value = _item(message(raw))
            items.append((".".join(path), value))
    return Stats(time_ns, items)


_SUMMARIES = {1: "min", 2: "max", 3: "mean", 4: "best", 5: "last", 6: "none", 7: "copy", 8: "first"}


def _metric(data: bytes) -> Metric:
    metric = Metric()
    for number, raw in fields(data):
        if number == 1:
            metric.name = text(raw)
        elif number == 2:
            metric.glob = text(raw)
        elif number == 4:
            metric.step_metric = text(raw)
        elif number == 6:
            options = {n for n, r in fields(message(raw)) if r}
            metric.step_sync, metric.hidden = 1 in options, 2 in options
        elif number == 7:
            metric.summary = [_SUMMARIES[n] for n, r in fields(message(raw)) if r and n in _SUMMARIES]
        elif number == 8:
            metric.goal = {1: "minimize", 2: "maximize"}.get(protobuf.integer(raw), "")
    return metric


def _alert(data: bytes) -> Alert:
    said = {number: text(raw) for number, raw in fields(data) if number in (1, 2, 3)}
    return Alert(said.get(1, ""), said.get(2, ""), said.get(3, ""))


_ARTIFACT_TEXTS = {4: "type", 5: "name", 6: "digest", 7: "description"}


def _artifact(data: bytes) -> Artifact:
    artifact = Artifact()
    for number, raw in fields(data):
        if number in _ARTIFACT_TEXTS:
            setattr(artifact, _ARTIFACT_TEXTS[number], text(raw))
        elif number == 8:
            artifact.metadata = read_json(text(raw))
        elif number == 11:
            artifact.aliases.append(text(raw))
        elif number == 12:
            artifact.files += [_entry(message(r)) for n, r in fields(message(raw)) if n == 4]
    return artifact


def _entry(data: bytes) -> dict[str, Any]:
    found = dict(fields(data))
    entry: dict[str, Any] = {"name": text(found.get(1, b"")), "bytes": protobuf.integer(found.get(4, 0))}
    if 2 in found:
        entry["md5_base64"] = text(found[2])
    if 3 in found:
        entry["reference"] = text(found[3])
    return entry


def _used(data: bytes) -> Artifact:
    said = {number: text(raw) for number, raw in fields(data) if number in (1, 2, 3)}
    return Artifact("used", said.get(3) or said.get(1, ""), said.get(2, ""))


def _output(data: bytes) -> Output:
    stream, time_ns, words = "stderr", 0, ""
    for number, raw in fields(data):
        if number == 1:
            stream = "stdout" if raw == 1 else "stderr"
        elif number == 2:
            time_ns = _time(message(raw))
        elif number == 3:
            words = text(raw)
    return Output(stream, time_ns, words)


def _files(data: bytes) -> Files:
    return Files([text(r) for n, raw in fields(data) if n == 1 for m, r in fields(message(raw)) if m == 1])


_ENVIRONMENT = {
    1: "os",
    2: "python",
    6: "program",
    7: "code_path",
    11: "root",
    12: "host",
    13: "username",
    14: "executable",
    18: "gpu_type",
    25: "cuda_version",
}
_ENVIRONMENT_COUNTS = {16: "cpu_count", 17: "cpu_count_logical", 19: "gpu_count"}


def _environment(data: bytes) -> Environment:
    values: dict[str, Any] = {"args": []}
    for number, raw in fields(data):
        if number in _ENVIRONMENT:
            values[_ENVIRONMENT[number]] = text(raw)
        elif number in _ENVIRONMENT_COUNTS:
            values[_ENVIRONMENT_COUNTS[number]] = protobuf.integer(raw)
        elif number == 5:
            values["args"].append(text(raw))
        elif number == 9:
            git = {n: text(r) for n, r in fields(message(raw))}
            values["git_remote"], values["git_commit"] = git.get(1, ""), git.get(2, "")
    return Environment(values)


def _exit(data: bytes) -> Exit:
    return Exit(next((protobuf.signed(raw) for number, raw in fields(data) if number == 1), 0))


_DECODERS: dict[int, Callable[[bytes], WandbRecord]] = {
    2: _history,
    3: _update("summary"),
    4: _output,
    5: _update("config"),
    6: _files,
    7: _stats,
    8: _artifact,
    10: _alert,
    12: _metric,
    13: _output,
    17: _run,
    18: _exit,
    25: _used,
    26: _environment,
}
