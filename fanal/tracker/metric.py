"""What keys mean and how they are shown (`describe`, `define_metric`), and the live summary that follows from it.

Each call is a `metric` event. A row pays nothing for keys that nobody defined; for others a look-up, once a key.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fanal.record.scalars import as_number
from fanal.record.values import text_of
from fanal.tracker.errors import UsageError, shown

SUMMARIES = ("last", "min", "max", "mean", "best", "first", "copy", "none")
GOALS = {"minimize": "minimize", "min": "minimize", "maximize": "maximize", "max": "maximize"}
BETTER = ("lower", "higher")


@dataclass(frozen=True)
class Metric:
    """A defined metric."""

    name: str
    step_metric: str | None = None
    step_sync: bool | None = None
    hidden: bool | None = None
    summary: str | None = None
    goal: str | None = None


class Metrics:
    """The metrics of a run, and the summary of those whose last value is not what stands for them."""

    def __init__(self) -> None:
        self._defined: dict[str, Metric] = {}
        self._of_key: dict[Any, Metric | None] = {}
        self._values: dict[Any, tuple[float, int]] = {}
        self.active = False
        """Whether a row has to be looked at."""

    def define(self, metric: Metric) -> None:
        """Take one up; the later definition of a name counts."""
        self._defined[metric.name] = metric
        self._of_key.clear()
        self.active = any(m.summary or m.step_metric for m in self._defined.values())

    def of(self, key: Any) -> Metric | None:
        """The definition that holds for a key: its own, or the last whose pattern matches."""
        if key not in self._of_key:
            own = self._defined.get(key)
            found = [m for m in self._defined.values() if fnmatchcase(text_of(key), m.name)]
            self._of_key[key] = own or (found[-1] if found else None)
        return self._of_key[key]

    def observe(self, data: Mapping[Any, Any], last: Callable[[Any], Any]) -> dict[Any, Any]:
        """Follow a row; what it must hold besides: the last values of axes that go with its keys."""
        beside: dict[Any, Any] = {}
        for key, value in data.items():
            metric = self.of(key)
            if metric is None:
                continue
            axis = metric.step_metric
            if axis is not None and metric.step_sync is not False and axis not in data and axis not in beside:
                beside[axis] = last(axis)
            if metric.summary not in (None, "last", "copy", "none"):
                self._follow(key, value, metric)
        return {axis: value for axis, value in beside.items() if value is not None}

    def summarised(self, last: Mapping[Any, Any]) -> dict[Any, Any]:
        """What stands for each key, of the last values and those followed."""
        if not self.active:
            return dict(last)
        shown = {key: value for key, value in last.items() if (m := self.of(key)) is None or m.summary != "none"}
        return shown | {key: value for key, (value, _) in self._values.items()}

    def _follow(self, key: Any, value: Any, metric: Metric) -> None:
        number = as_number(value)
        if number is None or number != number:  # `math.isnan` takes no integer beyond floats
            return
        known, num = self._values.get(key, (None, 0))
        how = "max" if metric.summary == "best" and metric.goal == "maximize" else str(metric.summary).split(",")[0]
        lower, higher = how in ("min", "best"), how == "max"
        if known is None or (lower and number < known) or (higher and number > known):
            self._values[key] = (number, num + 1)
        elif how == "mean":
            with suppress(OverflowError):  # an integer beyond floats is in no mean
                self._values[key] = (known + (number - known) / (num + 1), num + 1)


def metric_fields(metric: Metric) -> dict[str, Any]:
    """The fields of the `metric` event of a definition."""
    return {
        "pattern": metric.name,
        "step_metric": metric.step_metric,
        "hidden": metric.hidden,
        "summary": metric.summary,
        "goal": metric.goal,
    }


def checked(metric: Metric) -> Metric:
    """The definition in the record's words.

    Raises:
        UsageError: a name or axis that is no key, a summary or goal that there is not; says which there are.
    """
    _check_words("define_metric", name=metric.name, step_metric=metric.step_metric, summary=metric.summary)
    parts = [part.strip().lower() for part in metric.summary.split(",")] if metric.summary else []
    wrong = [part for part in parts if part not in SUMMARIES]
    if wrong:
        raise UsageError(f"define_metric: summary must be one of {', '.join(SUMMARIES)}, got {wrong[0]!r}")
    if metric.goal is not None and metric.goal not in tuple(GOALS):
        raise UsageError(f"define_metric: goal must be minimize or maximize, got {metric.goal!r}")
    goal = GOALS[metric.goal] if metric.goal else None
    return Metric(metric.name, metric.step_metric, metric.step_sync, metric.hidden, ",".join(parts) or None, goal)


def description(pattern: str, text: str, unit: str | None, better: str | None, source: str | None) -> dict[str, Any]:
    """The fields of the `metric` event of a description; the source is the caller's line where none is given.

    Raises:
        UsageError: what has to be text is none, or `better` is neither `lower` nor `higher`.
    """
    _check_words("describe", pattern=pattern, text=text, unit=unit, source=source)
    if better is not None and better not in BETTER:
        raise UsageError(f"describe: better must be lower or higher, got {better!r}")
    return {"pattern": pattern, "text": text, "unit": unit, "better": better, "source": source or caller()}


NEEDED = ("name", "pattern", "text")
"""Arguments that are neither absent nor empty."""


def _check_words(call: str, **given: Any) -> None:
    """Refuse what is no text, or empty where it must not be."""
    for name, value in given.items():
        if value is None and name not in NEEDED:
            continue
        if not isinstance(value, str) or (name in NEEDED and not value.strip()):
            what = "text that is not empty" if name in NEEDED else "text"
            raise UsageError(f"{call}: {name} must be {what}, got {shown(value)}")


_OURS = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100,PTH120  as the frames name their files


def caller() -> str | None:
    """File and line of the first frame outside of the tracker, the file relative to the working folder."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  the one way to a caller's line that costs no file
    while frame is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _OURS:  # noqa: PTH100,PTH120
        frame = frame.f_back
    if frame is None:
        return None
    path = Path(frame.f_code.co_filename)
    try:
        name = path.resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        name = path.name  # a file elsewhere: its folder would name the machine
    return f"{name}:{frame.f_lineno}"
