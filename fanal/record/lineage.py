"""Which steps of which attempt a run's default view shows: exact, from where each attempt began.

The last attempt shows everything it logged; below its first step stands the attempt it went on from, and so on. Steps
that a later attempt took over stay readable by attempt. A step going back inside an attempt begins no attempt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

FIRST_OF_ALL, LAST_OF_ALL = -(1 << 63), 1 << 63


@dataclass(frozen=True)
class Beginning:
    """Where an attempt begins."""

    attempt: int
    from_step: int | None
    """First step it logs; None where it has said none and logged none, so that it supersedes nothing."""
    from_attempt: int | None
    """The attempt it goes on from; the one before where None."""


@dataclass(frozen=True)
class Visible:
    """Steps `first_step <= step < end_step` of an attempt."""

    attempt: int
    first_step: int
    end_step: int


def visible(beginnings: Sequence[Beginning]) -> list[Visible]:
    """The default view of a run, earliest steps first; `beginnings` in order of attempts."""
    by_attempt = {beginning.attempt: beginning for beginning in beginnings}
    shown: list[Visible] = []
    end = LAST_OF_ALL
    attempt = max(by_attempt, default=0)
    while attempt in by_attempt:
        beginning = by_attempt[attempt]
        earlier = [number for number in by_attempt if number < attempt]
        before = beginning.from_attempt if beginning.from_attempt in earlier else max(earlier, default=0)
        from_step = FIRST_OF_ALL if before == 0 else beginning.from_step
        if from_step is not None:
            first = min(from_step, end)
            shown.append(Visible(attempt, first, end))
            end = first
        attempt = before
    return shown[::-1]
