"""A wish to stop, heard between two steps.

Guarantees that Ctrl-C and SIGTERM end a run after its current step with a checkpoint, and that a second
Ctrl-C ends it at once. It works in the main thread only, and puts the former handlers back.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopFlag:
    """Set once by a signal or by a caller; `reason` says by which."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ""

    def set(self, reason: str) -> None:
        if not self._event.is_set():
            self.reason = reason
        self._event.set()

    def __bool__(self) -> bool:
        return self._event.is_set()


@contextmanager
def stop_on_signals() -> Iterator[StopFlag]:
    """A flag that SIGINT and SIGTERM set; the second SIGINT raises `KeyboardInterrupt`."""
    flag = StopFlag()

    def hear(number: int, frame: FrameType | None) -> None:
        if flag and number == signal.SIGINT:
            raise KeyboardInterrupt
        flag.set(signal.Signals(number).name)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
