"""The calls of a run as functions of a module: each goes to the current run, and says so where there is none.

What only makes sense on somebody's server (`sweep`, `agent`, `Api`, …) is here too, as one clear line.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from fanal.record.notice import Notices
from fanal.tracker.current import current, running
from fanal.tracker.errors import UnsupportedError
from fanal.tracker.names import Before, Config, Summary
from fanal.tracker.run import Run
from fanal.tracker.settings import Settings

_login = Notices("login")
_words = Notices("script")


def _of_current(name: str) -> Callable[..., Any]:
    @wraps(getattr(Run, name))
    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(running(name), name)(*arguments, **named)

    return call


describe = _of_current("describe")
define_metric = _of_current("define_metric")
alert = _of_current("alert")
save = _of_current("save")
watch = _of_current("watch")
unwatch = _of_current("unwatch")
log_artifact = _of_current("log_artifact")
use_artifact = _of_current("use_artifact")
log_model = _of_current("log_model")
log_code = _of_current("log_code")
mark_preempting = _of_current("mark_preempting")
write_logs = _of_current("write_logs")
link_artifact = _of_current("link_artifact")
link_model = _of_current("link_model")
use_model = _of_current("use_model")
pin_config_keys = _of_current("pin_config_keys")


def get_run() -> Run | None:
    """The current run; None where there is none."""
    return current()


def get_config() -> Config | Before:
    """The current run's configuration; where there is none, what says so when it is used."""
    return Before("config") if (run := current()) is None else run.config


def get_summary() -> Summary | Before:
    """The current run's summary; where there is none, what says so when it is used."""
    return Before("summary") if (run := current()) is None else run.summary


def login(*_: Any, **__: Any) -> bool:
    """True: nobody logs in anywhere; said once."""
    _login.once("login", "nothing to log in to: runs are recorded on this machine")
    return True


def setup(settings: Any = None) -> Settings:
    """The settings as given; there is nothing to set up."""
    return settings if isinstance(settings, Settings) else Settings(**dict(settings or {}))


def teardown(exit_code: int | None = None) -> None:
    """End the current run, if there is one."""
    if (run := current()) is not None:
        run.finish(exit_code)


def require(*_: Any, **__: Any) -> None:
    """Nothing: nothing here has to be asked for first."""


def ensure_configured() -> None:
    """Nothing."""


def termlog(text: str = "", *_: Any, **__: Any) -> None:
    """A line on stderr, once."""
    _words.once(text, text)


termwarn = termerror = termlog


_INSTEAD = {
    "sweep": "start one run a setting from your own scheduler, with group='…', and compare them in the record",
    "agent": "start one run a setting from your own scheduler, with group='…'",
    "controller": "start one run a setting from your own scheduler, with group='…'",
    "Api": "fanal.open(path_or_url).runs[id] reads every run, exactly",
    "attach": "init(id='…', mode='shared') makes a further process a writer of the run",
    "restore": "fanal.open(path).runs[id] holds the files; Artifact.download puts an artifact's into a folder",
}


class Absent:
    """A call that Fanal does another way: the line that says which."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = f"Not here: {_INSTEAD[name]}."

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise UnsupportedError(f"fanal has no {self.__name__}: {_INSTEAD[self.__name__]}")


sweep, agent, controller, Api = (Absent(name) for name in ("sweep", "agent", "controller", "Api"))
attach, restore = (Absent(name) for name in ("attach", "restore"))
