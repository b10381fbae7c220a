"""What a run's earlier attempts left, as far as going on needs it: the last step, the configuration, the events.

Standard library only, since the training process loads nothing heavy: manifests and facts of segments are JSON, open
logs are read frame by frame. Costs what the run's facts take, milliseconds as a rule. What is damaged is left out;
`verify` names it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.blobs import read_blob
from fanal.record.events import Event
from fanal.record.files import DamagedError, read_document
from fanal.record.frames import Fact
from fanal.record.layout import SEGMENTS, WriterPath, numbered
from fanal.record.segments.tail import LogTail
from fanal.record.values import decode


def exists(record: Path, run: str) -> bool:
    """Whether the record holds the run."""
    return bool(layout.attempts_of(record, run))


def next_step(record: Path, run: str) -> int:
    """The step after the last one that the newest attempt with any row logged; 0 where none has."""
    for number in reversed(layout.attempts_of(record, run)):
        steps = [step for place in layout.writers_of(record, run, number) for step in _last_steps(place)]
        if steps:
            return max(steps) + 1
    return 0


def reach(record: Path, run: str) -> int:
    """The step after the last one that the run's view may hold, rows of the run that it was forked from included."""
    began = [
        event.fields.get("from_step") or 0
        for number in layout.attempts_of(record, run)
        for event in events(record, run, number)
        if event.kind == "attempt.start"
    ]
    return max(next_step(record, run), *began, 0)


def config(record: Path, run: str) -> dict[str, Any]:
    """The configuration of the newest attempt that has one; what is redacted or missing of it is left out."""
    for number in reversed(layout.attempts_of(record, run)):
        said = [event for event in events(record, run, number) if event.kind == "config"]
        if said:
            known: dict[str, Any] = {}
            for event in said:
                known |= _resolved(record, event.fields["config"])
            return known
    return {}


def summarised(record: Path, run: str) -> set[Any]:
    """The names that scripts set in the summary."""
    said = (event for number in layout.attempts_of(record, run) for event in events(record, run, number))
    return {name for event in said if event.kind == "summary" for name in event.fields["values"]}


def events(record: Path, run: str, attempt: int) -> list[Event]:
    """An attempt's events, each writer's in order of sequence."""
    return [
        Event(fact.kind, run, attempt, place.writer, sequence, fact.time_ns, fact.step, decode(fact.fields))
        for place in layout.writers_of(record, run, attempt)
        for sequence, fact in _facts(place)
        if fact.kind is not None
    ]


def _resolved(record: Path, said: dict[str, Any]) -> dict[str, Any]:
    if "$blob" not in said:
        return said
    try:
        return decode(json.loads(read_blob(record, said)))
    except RecordError:
        return {}


def _segments(place: WriterPath) -> Iterator[dict[str, Any]]:
    folder = place.folder / SEGMENTS
    for number in numbered(folder, ".json"):
        try:
            yield read_document(folder / f"{number}.json")
        except (DamagedError, OSError):
            continue


def _tail(place: WriterPath, covered: int) -> LogTail:
    tail = LogTail(place.folder, covered)
    tail.refresh()
    return tail


def _last_steps(place: WriterPath) -> Iterator[int]:
    covered = 0
    for segment in _segments(place):
        covered = max(covered, segment["last_sequence"])
        yield from (group["max_step"] for group in segment["groups"] if group["num_rows"])
    yield from (max(group.steps) for group in _tail(place, covered).groups.values() if len(group.steps))


def _facts(place: WriterPath) -> Iterator[tuple[int, Fact]]:
    covered = 0
    for segment in _segments(place):
        covered = max(covered, segment["last_sequence"])
        for file in segment["files"]:
            if file["role"] == "facts":
                yield from _read_facts(place.folder / SEGMENTS / file["name"])
    yield from _tail(place, covered).facts


def _read_facts(path: Path) -> Iterator[tuple[int, Fact]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        fact: dict[str, Any] = json.loads(line)
        yield fact["sequence"], Fact(fact["kind"], fact["step"], fact["time_ns"], fact["fields"])
