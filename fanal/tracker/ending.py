"""How the process ends, for runs that it leaves open.

An interpreter does not tell whoever is called at its exit with which code it ends. An uncaught exception stays in
`sys.last_value`; a code is seen where it goes through `sys.exit` in the main thread. That of a bare
`raise SystemExit(code)` is not seen, and such an end counts as a good one.
"""

import sys
import threading
from dataclasses import dataclass
from typing import Any, NoReturn

FORGOTTEN = "the process ended without finish()"


@dataclass
class _Seen:
    """What is known of the end of this process."""

    watched: bool = False
    code: Any = None
    before: BaseException | None = None
    """An exception of a session at a prompt, from before the newest run began."""


_seen = _Seen()


def watch() -> None:
    """A run begins: from now on note what `sys.exit` is given; what was before is not the run's end."""
    _seen.code, _seen.before = None, _last_exception()
    if _seen.watched:
        return
    leave, _seen.watched = sys.exit, True

    def noted(status: Any = None, /) -> NoReturn:
        if threading.current_thread() is threading.main_thread():
            _seen.code = status
        leave(status)

    sys.exit = noted


def outcome() -> tuple[str, str]:
    """Outcome and reason of a run that is still open while the interpreter exits."""
    error = _last_exception()
    if error is not None and error is not _seen.before:
        return "failed", type(error).__name__
    if _seen.code is None or _seen.code == 0:
        return "finished", FORGOTTEN
    return "failed", f"exit code {_seen.code if isinstance(_seen.code, int) else 1}"  # text is printed, and is code 1


def _last_exception() -> BaseException | None:
    return getattr(sys, "last_value", None)
