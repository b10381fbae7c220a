"""The attempts of a run as their events tell them: when, why and from where each began, how it ended, with what.

A config or code that lies in a blob is read when it is asked for, so that a blob that was redacted or withheld hinders
nothing else.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fanal.record.events import Event
from fanal.record.reading.lineage import Beginning
from fanal.record.values import decode

ReadBlob = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True)
class Attempt:
    """One start, resume, rewind or fork of a run."""

    number: int
    """As the run counts: through all runs where it is a fork or a stitch."""
    cause: str
    from_step: int | None
    """As given; the first step it logged where none was given; None where it has logged nothing."""
    from_attempt: int | None
    """As given: a number in its own run, or in `from_run`."""
    start_ns: int
    end_ns: int | None
    """None while it runs, or where it never ended in good order."""
    outcome: str | None
    reason: str | None
    run: str = ""
    """The run that it is an attempt of."""
    of_run: int = 0
    """Its number in that run."""
    from_run: str | None = None
    """The run it was forked from."""
    code: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Commit, branch, remote, changes and files, as far as they were kept."""
    config_events: tuple[Event, ...] = field(default=(), repr=False)
    read_blob: ReadBlob | None = field(default=None, repr=False, compare=False)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration: all that was said of it, the later over the earlier.

        Raises:
            RecordError: it was redacted, or its blob is missing; says which.
        """
        known: dict[str, Any] = {}
        for event in self.config_events:
            known |= self._resolved(event.fields["config"])
        return known

    def _resolved(self, config: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$blob" not in config:
            return config
        assert self.read_blob is not None, "an attempt of a record can read its blobs"
        return decode(json.loads(self.read_blob(config)))


def attempt_of(number: int, events: Sequence[Event], first_step: int | None, read_blob: ReadBlob) -> Attempt | None:
    """The attempt that `events`, all of one attempt, tell of; None where it has not begun."""
    start = next((event for event in events if event.kind == "attempt.start"), None)
    if start is None:
        return None
    events = as_told(events)
    end = next((event for event in reversed(events) if event.kind == "attempt.end"), None)
    code = next((event for event in reversed(events) if event.kind == "code"), None)
    from_step = start.fields.get("from_step")
    return Attempt(
        number=number,
        cause=start.fields["cause"],
        from_step=first_step if from_step is None else from_step,
        from_attempt=start.fields.get("from_attempt"),
        start_ns=start.time_ns,
        end_ns=end.time_ns if end else None,
        outcome=end.fields["outcome"] if end else None,
        reason=end.fields.get("reason") if end else None,
        run=start.run,
        of_run=start.attempt,
        from_run=start.fields.get("from_run"),
        code=code.fields if code else {},
        config_events=tuple(event for event in events if event.kind == "config"),
        read_blob=read_blob,
    )


def as_told(events: Sequence[Event]) -> Sequence[Event]:
    """Events of one writer in its order; those of several, which have no common order, by their times."""
    one = len({event.writer for event in events}) == 1
    return events if one else sorted(events, key=lambda event: event.time_ns)


def beginning_of(attempt: Attempt, events: Sequence[Event]) -> Beginning:
    """What the lineage needs to know of an attempt."""
    stitches = [event.fields["parts"] for event in events if event.kind == "stitch"]
    parts = [(part["run"], part.get("from_step")) for part in (stitches[-1] if stitches else [])]
    return Beginning(attempt.of_run, attempt.from_step, attempt.from_attempt, attempt.from_run, tuple(parts))
