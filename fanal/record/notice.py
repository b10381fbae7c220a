"""A line for the person at the terminal, once a reason: logging never stops a training, so what it must say is here."""

import sys
from contextlib import suppress

MAX_REASONS = 500
"""Odd keys may be made up without end; nobody reads more, and memory stays flat."""


class Notices:
    """What has been said already."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._said: set[str] = set()

    def once(self, reason: str, text: str) -> None:
        """Print one line on stderr, the first time that `reason` occurs."""
        if reason in self._said or len(self._said) > MAX_REASONS:
            return
        self._said.add(reason)
        if len(self._said) > MAX_REASONS:
            text = f"{MAX_REASONS} kinds of notices so far: further ones are not shown"
        if sys.stderr is not None:  # a program without a terminal, as under pythonw, has none
            # A terminal that went away, or a stream that was closed, must end neither `log` nor the thread that syncs.
            with suppress(OSError, ValueError):
                print(f"fanal: {self._name}: {text}", file=sys.stderr)
