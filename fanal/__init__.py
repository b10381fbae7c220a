"""Fanal: train a language model in full view.

`import fanal; fanal.init(project=…); fanal.log({…}, step=…); fanal.finish()` writes a record;
`fanal.open(path).runs[name].series(key)` reads one; `fanal.run` is the current run or None. Importing this loads
nothing heavy: each name is found when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanal.record.attempt import Run
    from fanal.record.read import open_record as open
    from fanal.tracker.current import finish, init, log

    __version__: str
    run: Run | None

__all__ = ["__version__", "finish", "init", "log", "open", "run"]

_TRACKER = {"init", "log", "finish"}


def __getattr__(name: str) -> Any:
    if name in _TRACKER:
        found = getattr(import_module("fanal.tracker.current"), name)
    elif name == "open":
        found = import_module("fanal.record.read").open_record
    elif name == "run":
        return import_module("fanal.tracker.current").current()
    elif name == "__version__":
        found = _version()
    else:
        raise AttributeError(f"module 'fanal' has no attribute {name!r}")
    globals()[name] = found
    return found


def _version() -> str:
    metadata = import_module("importlib.metadata")  # 20 ms, so only where somebody asks
    try:
        return metadata.version("fanal")
    except metadata.PackageNotFoundError:  # run from a tree that is not installed
        return "0+source"
