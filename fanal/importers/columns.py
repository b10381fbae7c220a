"""What the fields of a table's row mean: which is the step, which the wall time, which are metrics.

Used by CSV and JSON lines alike. A row without a step goes to the step before it; where no field is a step, rows are
numbered. Both are said in the report, and so is a wall time that names no zone.
"""

from collections.abc import Mapping
from typing import Any, cast

from fanal.importers.findings import Findings
from fanal.importers.items import Item, split
from fanal.importers.times import wall_time

STEP_NAMES = ("step", "_step", "global_step", "trainer/global_step", "train/global_step", "iteration", "iter", "steps")
TIME_NAMES = ("_timestamp", "timestamp", "wall time", "wall_time", "time", "datetime", "date", "created_at")
NAIVE = "wall times name no zone: read as UTC"


def step_name(names: list[str]) -> str | None:
    """The field that holds the step."""
    lower = {name.strip().lower(): name for name in reversed(names)}
    return next((lower[name] for name in STEP_NAMES if name in lower), None)


def whole_number(value: Any) -> int | None:
    """A step as an integer; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


class Columns:
    """Turns the fields of one row after the other into items."""

    def __init__(self, findings: Findings, step: str | None = None) -> None:
        self.last_step = -1
        self._findings = findings
        self._step = step

    def items(self, fields: Mapping[str, Any]) -> list[Item]:
        """One row's items.

        Raises:
            ValueError: its step is no integer.
        """
        name = self._step if self._step is not None else step_name(list(fields))
        step = self._step_of(fields, name)
        time_ns, time_name = self._time_of(fields)
        self.last_step = step
        return split(step, time_ns, {k: v for k, v in fields.items() if k not in (name, time_name)})

    def _step_of(self, fields: Mapping[str, Any], name: str | None) -> int:
        if name is None:
            self._say("no field is a step: rows are numbered from 0")
            return self.last_step + 1
        if fields.get(name) is None:
            self._say(f"rows without {name!r} are taken to belong to the step before them")
            return max(self.last_step, 0)
        step = whole_number(fields[name])
        if step is None:
            raise ValueError(f"the step {fields[name]!r} is no integer")
        return step

    def _time_of(self, fields: Mapping[str, Any]) -> tuple[int, str | None]:
        for name in fields:
            if name.strip().lower() in TIME_NAMES and (found := wall_time(fields[name])) is not None:
                if found[1]:
                    self._say(NAIVE)
                return found[0], name
        return 0, None

    def _say(self, note: str) -> None:
        if note not in self._findings.notes:
            self._findings.notes.append(note)


def flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Objects inside an object by dotted names; one that is marked by `_type` is a value."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict) and item and "_type" not in item:
            found |= flat(cast("dict[str, Any]", item), f"{before}{key}.")
        else:
            found[before + key] = item
    return found
