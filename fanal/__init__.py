"""Fanal: train a language model in full view.

`import fanal; fanal.init(project=…); fanal.log({…}, step=…); fanal.finish()` writes a record;
`fanal.open(path).runs[name].series(key)` reads one; `fanal.run` is the current run or None. `import fanal as wandb`
works for scripts, `fanal.shim()` for libraries that say `import wandb` themselves. Importing this loads nothing heavy:
each name is found when it is first asked for (`fanal/tracker/public.py` lists them).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanal.record.reading.read import open_record as open  # noqa: F401  a name of the module
    from fanal.tracker.names import Config, Summary
    from fanal.tracker.public import *  # noqa: F403  what type checkers see is what `__getattr__` finds
    from fanal.tracker.run import Run

    run: Run | None
    config: Config
    summary: Summary

__version__ = "0.2.0"

_CURRENT = {"run": "get_run", "config": "get_config", "summary": "get_summary"}
"""What changes from moment to moment, and the function that tells it."""


def __getattr__(name: str) -> Any:
    if name in _CURRENT:
        return getattr(import_module("fanal.tracker.calls"), _CURRENT[name])()
    if name == "open":
        found = import_module("fanal.record.reading.read").open_record
    elif name.startswith("_") or name not in (public := import_module("fanal.tracker.public")).__all__:
        raise AttributeError(f"module 'fanal' has no attribute {name!r}")
    else:
        found = getattr(public, name)
    globals()[name] = found
    return found
