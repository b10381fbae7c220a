"""What an `init` asks for, once arguments, settings and variables are put together: an argument wins, then a setting.

Everything that Fanal does not act on is in `recorded`, by its name, and becomes an event of the run.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, cast

from fanal.record import layout
from fanal.record.copies.publishing import check_dest
from fanal.record.scalars import as_number
from fanal.record.withhold import BY_DEFAULT, Withhold
from fanal.tracker.errors import UsageError, shown
from fanal.tracker.settings import Settings, from_environment, is_false, is_true, split_settings, variable_of

MODES = ("online", "offline", "shared", "disabled")
REINIT = ("default", "return_previous", "finish_previous", "create_new")
RESUME = ("allow", "never", "must", "auto")
RECORDED = ("force", "tensorboard", "sync_tensorboard", "monitor_gym", "anonymous")
"""Arguments of `init` that are written into the record and nothing else."""
_OF_A_BEGINNING = (
    *("project", "entity", "notes", "tags", "group", "job_type", "role", "cause", "from_step"),
    *("publish", "withhold"),
)
"""Arguments that only count when a run begins."""
_POINT = re.compile(r"(?P<run>[^?]+)\?_step=(?P<step>\d+)")


@dataclass(frozen=True)
class Asked:
    """An `init` call, resolved."""

    folder: Path
    in_folder: bool = False
    """Whether `dir` was given."""
    project: str | None = None
    entity: str | None = None
    id: str | None = None
    name: str | None = None
    notes: str | None = None
    tags: tuple[str, ...] = ()
    group: str | None = None
    job_type: str | None = None
    role: str = "run"
    cause: str | None = None
    from_step: int | None = None
    mode: str = "offline"
    online: bool = False
    """Whether somebody asked in words for an upload."""
    reinit: str = "default"
    resume: str | None = None
    resume_from: tuple[str, int] | None = None
    fork_from: tuple[str, int] | None = None
    save_code: bool = False
    publish: str | None = None
    withhold: tuple[Any, ...] = ()
    config: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    quiet: bool = False
    meta: bool = True
    """Whether environment, process and code are recorded."""
    git: bool = True
    system: bool = True
    sampling_seconds: float = 10.0
    ignore_globs: tuple[str, ...] = ()
    git_commit: str | None = None
    git_remote_url: str | None = None
    code_dir: str | None = None
    label: str | None = None
    settings: Settings = field(default_factory=Settings)
    recorded: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def rules(self) -> tuple[Withhold, ...]:
        """What is withheld, by pattern."""
        made = (
            rule
            if isinstance(rule, Withhold)
            else Withhold(rule, "withheld by the script")
            if isinstance(rule, str)
            else Withhold(*rule)
            for rule in self.withhold
        )
        return (*made, *BY_DEFAULT)

    def with_(self, **changed: Any) -> "Asked":
        """The same call, some of it changed."""
        return replace(self, **changed)

    def names_another(self, run: str, name: str | None) -> bool:
        """Whether this call means another run than the one that is open."""
        if self.id is not None or self.resume_from or self.fork_from:
            wanted = self.id or (self.resume_from and self.resume_from[0])
            return wanted != run
        return self.name is not None and self.name != name

    def differing(self, other: "Asked") -> list[str]:
        """The arguments by which this call, which goes on with another's run, asks for something else."""
        names = [
            name for name in _OF_A_BEGINNING if getattr(self, name) not in (getattr(Asked, name), getattr(other, name))
        ]
        moved = self.in_folder and self.folder.absolute() != other.folder.absolute()
        return [*names, *(["dir"] if moved else [])]


def resolve(arguments: Mapping[str, Any], environ: Mapping[str, str]) -> Asked:
    """Put arguments, settings and variables together.

    Raises:
        UsageError: a value that none of the calls takes; says which it may be.
        ValueError: the id cannot be a folder's name.
    """
    settings = arguments.get("settings")
    honoured, kept = split_settings(settings)
    variables = from_environment(environ)
    found = variables | honoured
    found |= {name: value for name, value in arguments.items() if value is not None and name not in RECORDED}
    recorded = {name: arguments[name] for name in RECORDED if arguments.get(name) not in (None, False)}
    recorded |= dict(arguments.get("others") or {})
    if kept:
        recorded["settings"] = kept
    if found.get("entity"):
        recorded["entity"] = found["entity"]
    called = _Called({n: variable_of(n, environ) or n for n, value in variables.items() if found[n] is value})
    _check(called, found)
    mode = called.one_of("mode", str(found.get("mode") or "offline").lower(), (*MODES, "dryrun", "run"))
    mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)
    project = found.get("project")
    return Asked(
        folder=_folder(found, project),
        mode=mode,
        online=mode == "online",
        in_folder=found.get("dir") is not None,
        tags=_tags(found.get("tags")),
        reinit=_reinit(called, found.get("reinit")),
        resume=_resume(called, found.get("resume")),
        resume_from=_point(called["resume_from"], found.get("resume_from")),
        fork_from=_point(called["fork_from"], found.get("fork_from")),
        save_code=is_true(found.get("save_code")) and not is_true(found.get("disable_code")),
        withhold=_withhold(found.get("withhold")),
        config=_chosen(as_config(found.get("config")), found),
        quiet=is_true(found.get("quiet")),
        meta=not is_true(found.get("disable_meta")),
        git=not is_true(found.get("disable_git")),
        system=not is_true(found.get("disable_stats")) and not is_false(environ.get("FANAL_SYSTEM")),
        sampling_seconds=_seconds(called["sampling_seconds"], found.get("sampling_seconds") or 10.0),
        ignore_globs=tuple(found.get("ignore_globs") or ()),
        settings=settings if isinstance(settings, Settings) else Settings(**(dict(settings) if settings else {})),
        recorded=recorded,
        from_step=found.get("from_step"),
        role=found.get("role") or "run",
        **{name: _text(found.get(name)) for name in _TEXTS},
    )


_TEXTS = (
    *("project", "entity", "id", "name", "notes", "group", "job_type", "cause"),
    *("publish", "git_commit", "git_remote_url", "code_dir", "label"),
)


class _Called(dict[str, str]):
    """What an inner name is called in a message: the variable that gave it, or the argument."""

    def __missing__(self, name: str) -> str:
        return f"init: {'x_stats_sampling_interval' if name == 'sampling_seconds' else name}"

    def one_of(self, name: str, value: str, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            raise UsageError(f"{self[name]} must be one of {', '.join(allowed)}, got {value!r}")
        return value


def _check(called: _Called, found: Mapping[str, Any]) -> None:
    """Refuse arguments of a type that they cannot be meant in."""
    if (given := found.get("id")) is not None:
        if not isinstance(given, str):
            raise UsageError(f"{called['id']} must be text, got {shown(given)}")
        layout.check_run_id(given)
    if not isinstance(found.get("dir") or "", str | PathLike):
        raise UsageError(f"{called['dir']} must be a path, got {shown(found['dir'])}")
    for name in ("tags", "config_include_keys", "config_exclude_keys", "ignore_globs", "withhold"):
        if not isinstance(found.get(name) or (), Iterable):
            raise UsageError(f"{called[name]} must be a list, got {shown(found[name])}")
    if found.get("publish") is not None:
        try:
            check_dest(found["publish"])
        except ValueError as error:
            raise UsageError(f"{called['publish']}: {error}") from error


def _withhold(given: Any) -> tuple[Any, ...]:
    """Patterns, each alone or with its reason."""
    rules: tuple[Any, ...] = (given,) if isinstance(given, str | Withhold) else tuple(given or ())
    for rule in rules:
        pair = isinstance(rule, tuple | list) and list(map(type, cast("list[Any]", rule))) == [str, str]
        if not pair and not isinstance(rule, str | Withhold):
            raise UsageError(f"init: withhold takes patterns, or pairs of pattern and reason, got {shown(rule)}")
    return rules


def _seconds(called: str, given: Any) -> float:
    try:
        seconds = float(given) if isinstance(given, str) else as_number(given)
    except ValueError:
        seconds = None
    if seconds is None or not 0 < seconds < math.inf:
        raise UsageError(f"{called} must be a number of seconds above 0, got {shown(given)}")
    return float(seconds)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def as_config(given: Any) -> dict[Any, Any]:
    """A configuration in any of the shapes that people hand over: names and values."""
    if given is None:
        return {}
    if isinstance(given, str | Path):
        return _config_file(Path(given))
    if isinstance(given, Mapping):
        return dict(cast("Mapping[Any, Any]", given))
    if is_dataclass(given) and not isinstance(given, type):
        return {part.name: getattr(given, part.name, None) for part in fields(given)}
    if callable(flags := getattr(given, "flag_values_dict", None)):  # absl's flags
        return dict(cast("Mapping[Any, Any]", flags()))
    if callable(items := getattr(given, "items", None)):
        return dict(cast("Iterable[tuple[Any, Any]]", items()))
    if not hasattr(given, "__dict__"):
        raise UsageError(f"config must be a dict, an object with attributes or a file of one, got {shown(given)}")
    return dict(vars(given))


def _config_file(path: Path) -> dict[Any, Any]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"init: config {path} cannot be read: {error.strerror or error}") from error
    if path.suffix == ".json":
        return as_config(json.loads(text))
    try:
        yaml = import_module("yaml")
    except ImportError as error:
        raise UsageError(
            f"config {path} is no .json file, and PyYAML is not installed: install it or pass a dict"
        ) from error
    return as_config(yaml.safe_load(text))


def _chosen(config: dict[Any, Any], found: Mapping[str, Any]) -> dict[Any, Any]:
    include, exclude = found.get("config_include_keys"), found.get("config_exclude_keys")
    if include and exclude:
        raise UsageError("init takes config_include_keys or config_exclude_keys, not both")
    if include:
        return {key: value for key, value in config.items() if key in _tags(include)}
    return {key: value for key, value in config.items() if key not in _tags(exclude)}


def _folder(found: Mapping[str, Any], project: str | None) -> Path:
    """`dir` is the record; where it holds other things, or stands for another tracker's folder, the record is in it."""
    inner = Path("fanal") / layout.run_id_from(str(project or "project"))
    folder = found.get("dir")
    if folder is None:
        return Path(found["parent"]) / inner if found.get("parent") else inner
    path = Path(folder)
    holds_others = path.is_dir() and not (path / layout.RECORD_FILE).exists() and any(path.iterdir())
    return path / inner if holds_others else path


def _tags(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _reinit(called: _Called, given: Any) -> str:
    if given is None or isinstance(given, bool) or str(given).lower() in ("true", "false"):
        return "default" if given is None else "finish_previous" if is_true(given) else "return_previous"
    return called.one_of("reinit", str(given), REINIT)


def _resume(called: _Called, given: Any) -> str | None:
    if given is None or given == "" or given is False or is_false(given):
        return None
    if is_true(given) and not (isinstance(given, str) and given in RESUME):
        return "auto"
    return called.one_of("resume", str(given), RESUME)


def _point(called: str, given: Any) -> tuple[str, int] | None:
    if given is None:
        return None
    match = _POINT.fullmatch(str(given))
    if match is None:
        raise UsageError(f"{called} must be '<run id>?_step=<step>', got {str(given)[:100]!r}")
    return layout.check_run_id(match["run"]), int(match["step"])
