import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fanal.errors import RecordError
from fanal.record.events import Event
from fanal.record.reading.begun import attempt_of, beginning_of
from fanal.record.reading.lineage import Beginning


def event(kind: str, sequence: int, **fields: Any) -> Event:
    return Event(kind, "a", 3, "w", sequence, sequence * 100, None, fields)


def no_blobs(ref: Mapping[str, Any]) -> bytes:
    raise RecordError("redacted: a token was in it")


START = event("attempt.start", 1, role="run", cause="fork", from_step=None, from_attempt=2, from_run="b")


def test_an_attempt_without_its_start_has_not_begun() -> None:
    assert attempt_of(3, [event("note", 1, text="x")], 0, no_blobs) is None


def test_an_attempt_is_what_its_events_tell() -> None:
    events = [START, event("code", 2, commit="c", files=[]), event("attempt.end", 3, outcome="failed", reason="why")]
    attempt = attempt_of(7, events, 5, no_blobs)
    assert attempt is not None
    assert (attempt.number, attempt.of_run, attempt.run, attempt.cause) == (7, 3, "a", "fork")
    assert (attempt.from_step, attempt.from_attempt, attempt.from_run) == (5, 2, "b")
    assert (attempt.start_ns, attempt.end_ns, attempt.outcome, attempt.reason) == (100, 300, "failed", "why")
    assert attempt.code["commit"] == "c"
    assert beginning_of(attempt, events) == Beginning(3, 5, 2, "b")


def test_a_config_is_what_all_its_events_say_blobs_and_inline() -> None:
    blobs = {"one": {"lr": {"$float": "Infinity"}, "n": 1}}
    refs = [{"n": 2, "inline": True}, {"$blob": "one", "bytes": 9, "type": "application/json"}]
    events = [START, *(event("config", 2 + n, config=ref) for n, ref in enumerate(refs))]
    attempt = attempt_of(3, events, 0, lambda ref: json.dumps(blobs[ref["$blob"]]).encode())
    assert attempt is not None
    assert attempt.config == {"n": 1, "inline": True, "lr": float("inf")}


def test_a_config_that_was_redacted_says_so_when_it_is_asked_for() -> None:
    attempt = attempt_of(3, [START, event("config", 2, config={"$blob": "gone", "bytes": 1, "type": "x"})], 0, no_blobs)
    assert attempt is not None
    assert attempt.outcome is None
    with pytest.raises(RecordError, match="redacted: a token was in it"):
        _ = attempt.config


def test_a_stitch_names_its_parts() -> None:
    parts = [{"run": "x", "from_step": 0}, {"run": "y", "from_step": None}]
    events = [START, event("stitch", 2, parts=parts)]
    attempt = attempt_of(3, events, None, no_blobs)
    assert attempt is not None
    assert beginning_of(attempt, events).parts == (("x", 0), ("y", None))


def test_of_several_writers_the_end_that_was_told_last_counts() -> None:
    ended = [
        event("attempt.end", 90, outcome="interrupted"),
        replace(event("attempt.end", 5, outcome="finished"), writer="later", time_ns=10**18),
    ]
    attempt = attempt_of(3, [START, *ended], 0, no_blobs)
    assert attempt is not None
    assert attempt.outcome == "finished"
