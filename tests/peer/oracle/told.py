"""What a tracker kept of one sitting of a run, in a form that both trackers' files can be brought to.

A sitting is a run, or one attempt of a resumed one. Everything is a value at a place: `rows loss` (by step), `config
lr`, `summary loss`, `label name`, `metric eval/*`, `artifact tiny`, `file model.pt`, `alert Spike`. Numbers are
compared as numbers (wandb's file writes 1.0 as 1), bits of floats exactly; a boolean is no number.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeGuard

Told = dict[str, Any]

CLOCK = ("*runtime", "*_per_second", "*/dur", "*time", "*_time")
"""Keys whose values are what a clock said: that they are there is compared, not what they say."""
EDGES = 1e-6
"""Of the largest edge: how far the edges of two histograms may be apart."""
INTERNAL = ("_step", "_runtime", "_timestamp", "_wandb")


class Absent:
    """No such place."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


def flat(values: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings by dotted name; an empty mapping is a leaf."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and not is_media(value):
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def is_media(value: Any) -> bool:
    """Whether a value stands for a picture, a table, or what was kept as its text."""
    return isinstance(value, Mapping) and not value.keys().isdisjoint(("_type", "$media", "media", "$repr"))


def by_clock(key: str) -> bool:
    """Whether a key's values come from a clock."""
    return any(fnmatchcase(key, pattern) for pattern in CLOCK)


def counted(found: Told, place: str) -> str:
    """`place`, numbered where it is taken: the second version of an artifact is `artifact tiny (2)`."""
    number = 2
    numbered = place
    while numbered in found:
        numbered, number = f"{place} ({number})", number + 1
    return numbered


def file_name(name: str) -> str:
    """A file's name without the time and process in the names of event files."""
    return re.sub(r"(?<=tfevents\.)[\w.]+", "…", name)


def metadata(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """An artifact's metadata by dotted name."""
    return {key: "<clock>" if by_clock(key) else value for key, value in flat(values or {})}


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same: NaN is NaN, −0 is not 0, True is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and (a != 0 or math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if is_histogram(a) and is_histogram(b):
        return a["values"] == b["values"] and near(a["bins"], b["bins"])
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def is_histogram(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a histogram's counts and edges."""
    return isinstance(value, Mapping) and value.get("media") == "histogram"


def near(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether edges are the same to single precision, in which wandb computes those of tensors."""
    tolerance = EDGES * max(map(abs, a), default=0.0)
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b, strict=True))


def without_id(value: Any, run_id: str) -> Any:
    """`value` with the run's random id replaced wherever text holds it."""
    if isinstance(value, str):
        return value.replace(run_id, "<id>") if run_id else value
    if isinstance(value, Mapping):
        return {without_id(k, run_id): without_id(v, run_id) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_id(item, run_id) for item in value]
    return value


def words(value: Any, limit: int = 110) -> str:
    """A value in short, and the same for the same value."""
    if is_histogram(value):
        text = f"histogram of {len(value['values'])} bins, {sum(value['values'])} values"
    elif isinstance(value, Mapping) and any(is_histogram(one) for one in value.values()):
        text = "; ".join(f"{step}: {words(one)}" for step, one in value.items())
    else:
        text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= limit else f"{text[: limit - 25]} … ({len(text)} characters)"
