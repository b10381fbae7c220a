"""What the log cannot take, for instance on a full disk: kept in memory up to `RING_BYTES`, the oldest dropped first.

Nothing here waits or raises. What was dropped is counted, with its steps and for how long, and becomes a `gap` event
once there is space again; its sequence numbers stay empty in the log.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fanal.record.frames import KIND
from fanal.record.group import Group

RING_BYTES = 8 << 20
ENTRY_BYTES = 200
"""What an entry costs in memory beside its bytes."""


@dataclass(frozen=True, slots=True)
class Held:
    """A frame that waits."""

    step: int | None
    body: bytes
    """The payload, for a row without its first four bytes."""
    group: Group | None = None
    kind: int = 0

    def payload(self) -> bytes:
        """The frame's payload; a row's group must stand in the current log file."""
        return self.body if self.group is None else KIND.pack(self.kind | self.group.head) + self.body


@dataclass
class Ring:
    """Frames in the order in which they were logged."""

    frames: deque[Held] = field(default_factory=deque[Held])
    num_dropped: int = 0
    reason: str = ""
    _bytes: int = 0
    _since: float | None = None
    _steps: list[int] = field(default_factory=list[int])
    """Lowest and highest step among the dropped."""

    def __bool__(self) -> bool:
        return bool(self.frames) or self.num_dropped > 0

    def add(self, held: Held) -> None:
        """Keep a frame; the oldest go where there are too many bytes."""
        if self._since is None:
            self._since = time.monotonic()
        self.frames.append(held)
        self._bytes += len(held.body) + ENTRY_BYTES
        while self._bytes > RING_BYTES:
            self._drop()

    def pop(self) -> Held:
        """Take the oldest frame out."""
        held = self.frames.popleft()
        self._bytes -= len(held.body) + ENTRY_BYTES
        if not self:
            self._since = None
        return held

    def gap(self) -> dict[str, Any]:
        """The fields of the `gap` event."""
        return {
            "frames": self.num_dropped,
            "first_step": self._steps[0] if self._steps else None,
            "last_step": self._steps[-1] if self._steps else None,
            "seconds": round(time.monotonic() - (self._since or time.monotonic()), 3),
            "reason": self.reason,
        }

    def said(self) -> None:
        """The gap stands in the log: count anew."""
        self.num_dropped, self._steps = 0, []
        self._since = None if not self.frames else self._since

    def _drop(self) -> None:
        gone = self.pop()
        self.num_dropped += 1
        if gone.step is not None:
            steps = [*self._steps, gone.step]
            self._steps = [min(steps), max(steps)]
