"""Where the wall time of a training went, by part; seconds of earlier attempts are carried on.

Guarantees that parts do not overlap: a part inside another is an error of ours. Costs two clock reads a part.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

PARTS = ("compile", "data", "step", "report", "log", "eval", "sample", "checkpoint")
"""`report` makes a row of a step's numbers, `log` gives it to the record."""


class Clock:
    """Seconds by part."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0) | dict(before or {})
        self._inside: str | None = None

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time inside as `name`."""
        assert name in PARTS, name
        assert self._inside is None, (name, self._inside)
        self._inside, began = name, time.monotonic()
        try:
            yield
        finally:
            self._inside = None
            self.seconds[name] += time.monotonic() - began
