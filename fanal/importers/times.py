"""The source's wall time as nanoseconds since 1970, UTC; never the time of the import, never this machine's zone.

Numbers are seconds, milliseconds, microseconds or nanoseconds by their size (as seconds, 1973 to 5138); smaller ones
are no wall time. Text is ISO 8601; without an offset it is read as UTC, and the caller says so.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

LEAST_SECONDS, END_SECONDS = 1e8, 1e11
_UNITS = (1, 10**3, 10**6, 10**9)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_seconds(seconds: float) -> int:
    """Seconds since 1970 as the nearest nanosecond; 0 for what is no time."""
    if not math.isfinite(seconds):
        return 0
    whole = math.floor(seconds)
    return whole * 10**9 + round((seconds - whole) * 10**9)


def from_number(number: float) -> int | None:
    """A wall time whose unit is told by its size; None where it is no wall time."""
    for per_second in _UNITS:
        if LEAST_SECONDS * per_second <= number < END_SECONDS * per_second:
            if isinstance(number, int):
                return number * (10**9 // per_second)
            return from_seconds(number) if per_second == 1 else round(number * (10**9 // per_second))
    return None


def from_text(text: str) -> tuple[int, bool] | None:
    """An ISO 8601 date and time and whether it named no zone; None where it is none."""
    words = text.strip()
    words = words[:-4] + "+00:00" if words.endswith(" UTC") else words
    if len(words) < 10 or not words[:4].isdigit():
        return None
    try:
        found = datetime.fromisoformat(words)
    except ValueError:
        return None
    naive = found.tzinfo is None
    since = (found.replace(tzinfo=UTC) if naive else found) - _EPOCH
    return (since // timedelta(microseconds=1)) * 1000, naive


def wall_time(value: Any) -> tuple[int, bool] | None:
    """A wall time given as number or text, and whether it named no zone; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        found = from_number(value)
        return None if found is None else (found, False)
    return from_text(value) if isinstance(value, str) else None
