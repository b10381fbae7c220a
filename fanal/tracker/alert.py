"""Alerts: an event with a title, words and a level; whoever follows the record may ring a bell."""

import time
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from fanal.record.scalars import as_number
from fanal.record.values import text_of
from fanal.tracker.errors import shown

if TYPE_CHECKING:
    from fanal.tracker.run import Run


class AlertLevel(Enum):
    """How much an alert matters."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


_LEVELS = {"info": "info", "warn": "warn", "warning": "warn", "error": "error"}
_sent: "WeakKeyDictionary[Run, dict[str, float]]" = WeakKeyDictionary()


def send(run: "Run", title: str, text: str, level: Any, wait_duration: Any) -> None:
    """Record an alert, unless one of its title was recorded less than `wait_duration` ago."""
    title = text_of(title)
    seconds = wait_duration.total_seconds() if isinstance(wait_duration, timedelta) else as_number(wait_duration or 0)
    if seconds is None:
        given = shown(wait_duration)
        run.notices.once("alert wait", f"alert: wait_duration must be seconds or a timedelta, got {given}: not waited")
        seconds = 0
    before, now = _sent.setdefault(run, {}), time.monotonic()
    if now - before.get(title, -float("inf")) < seconds:
        return
    before[title] = now
    named = "info" if level is None else text_of(getattr(level, "value", level)).lower()
    if named not in _LEVELS:
        run.notices.once(f"alert {named}", f"alert: level {named!r} is none of INFO, WARN, ERROR: recorded as info")
    words = run.record.blob(text_of(text).encode("utf-8", "surrogatepass"), "text/plain")
    run.record.event("alert", title=title, text=words, level=_LEVELS.get(named, "info"))
