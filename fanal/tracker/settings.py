"""`Settings`: whatever a script sets about its tracker; Fanal acts on those in `HONOURED` and records the others.

A setting may be given to `init` in a `Settings` or a dict, or by a variable `FANAL_<NAME>`, or `WANDB_<NAME>` where
that is unset. What is given as an argument counts before a setting, a setting before a variable.
"""

import os
from collections.abc import Mapping
from typing import Any

from fanal.tracker.errors import UsageError, shown

HONOURED: dict[str, str] = {
    "entity": "entity",
    "project": "project",
    "root_dir": "dir",
    "run_id": "id",
    "run_name": "name",
    "run_notes": "notes",
    "run_tags": "tags",
    "run_group": "group",
    "run_job_type": "job_type",
    "mode": "mode",
    "reinit": "reinit",
    "resume": "resume",
    "resume_from": "resume_from",
    "fork_from": "fork_from",
    "save_code": "save_code",
    "allow_val_change": "allow_val_change",
    "silent": "quiet",
    "quiet": "quiet",
    "disable_git": "disable_git",
    "disable_code": "disable_code",
    "ignore_globs": "ignore_globs",
    "git_commit": "git_commit",
    "git_remote_url": "git_remote_url",
    "code_dir": "code_dir",
    "x_disable_meta": "disable_meta",
    "x_disable_stats": "disable_stats",
    "_disable_meta": "disable_meta",
    "_disable_stats": "disable_stats",
    "x_stats_sampling_interval": "sampling_seconds",
    "x_label": "label",
}
"""By name of the setting, the argument of `init` (or the inner name) that it stands for."""
VARIABLES: dict[str, tuple[str, ...]] = {
    "entity": ("ENTITY",),
    "project": ("PROJECT",),
    "dir": ("DIR",),
    "id": ("RUN_ID",),
    "name": ("NAME", "RUN_NAME"),
    "notes": ("NOTES", "RUN_NOTES"),
    "tags": ("TAGS", "RUN_TAGS"),
    "group": ("GROUP", "RUN_GROUP"),
    "job_type": ("JOB_TYPE", "RUN_JOB_TYPE"),
    "mode": ("MODE",),
    "reinit": ("REINIT",),
    "resume": ("RESUME",),
    "resume_from": ("RESUME_FROM",),
    "fork_from": ("FORK_FROM",),
    "save_code": ("SAVE_CODE",),
    "publish": ("PUBLISH",),
    "role": ("ROLE",),
    "quiet": ("SILENT", "QUIET"),
    "disable_git": ("DISABLE_GIT",),
    "disable_code": ("DISABLE_CODE",),
    "ignore_globs": ("IGNORE_GLOBS",),
    "git_commit": ("GIT_COMMIT",),
    "git_remote_url": ("GIT_REMOTE_URL",),
    "code_dir": ("CODE_DIR",),
    "disable_meta": ("X_DISABLE_META", "_DISABLE_META"),
    "disable_stats": ("X_DISABLE_STATS", "_DISABLE_STATS"),
    "sampling_seconds": ("X_STATS_SAMPLING_INTERVAL",),
    "label": ("X_LABEL",),
}
"""By inner name, the ends of the variables that give it: `FANAL_` with each, then `WANDB_` with each."""
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class Settings:
    """A tracker's settings by name; one that was not given is None."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def copy(self) -> "Settings":
        """The same settings apart."""
        return Settings(**vars(self))

    def to_dict(self) -> dict[str, Any]:
        """What was given."""
        return dict(vars(self))


def split_settings(settings: "Settings | Mapping[str, Any] | None") -> tuple[dict[str, Any], dict[str, Any]]:
    """Those that Fanal acts on, by inner name, and the others.

    Raises:
        UsageError: these are no settings.
    """
    if settings is None:
        given: dict[str, Any] = {}
    elif not isinstance(settings, Mapping) and not hasattr(settings, "__dict__"):
        raise UsageError(f"init: settings must be a Settings or a dict, got {shown(settings)}")
    else:
        given = dict(settings) if isinstance(settings, Mapping) else dict(vars(settings))
    honoured = {HONOURED[name]: value for name, value in given.items() if name in HONOURED and value is not None}
    return honoured, {name: value for name, value in given.items() if name not in HONOURED}


def from_environment(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What variables give, by inner name; an empty variable gives nothing."""
    found: dict[str, Any] = {}
    for name in VARIABLES:
        if (variable := variable_of(name, environ)) is not None:
            text = environ[variable]
            found[name] = _listed(text) if name in ("tags", "ignore_globs") else text
    if "dir" in found and not environ.get("FANAL_DIR"):  # other trackers' folder is one to make theirs in
        found["parent"] = found.pop("dir")
    return found


def variable_of(name: str, environ: Mapping[str, str]) -> str | None:
    """The variable that gives an inner name; None where none does."""
    names = (prefix + end for prefix in ("FANAL_", "WANDB_") for end in VARIABLES.get(name, ()))
    return next((variable for variable in names if environ.get(variable)), None)


def is_true(value: Any) -> bool:
    """A switch as scripts and variables give it."""
    return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


def is_false(value: Any) -> bool:
    """Whether a switch was turned off, which is not the same as not given."""
    return value.strip().lower() in _FALSE if isinstance(value, str) else value is False


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
