"""What a record says of itself: its keys, redactions and anchors, read from the run `_record` alone.

Reads that run's lines of facts and what its logs hold, no column file: needs neither numpy nor pyarrow. Damaged files
are left out; `verify` names them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.record import layout
from fanal.record.files import DamagedError, read_document
from fanal.record.layout import SEGMENTS, WriterPath, numbered
from fanal.record.segments.tail import READ_ERRORS, LogTail

JOURNAL = "_record"
NEEDED: dict[str, dict[str, type]] = {
    "key": {"public_key": str},
    "redaction": {"blob": str, "reason": str},
    "anchor": {"root": str, "size": int, "where": str},
}
"""What must be there for an event to count, whoever wrote it."""


@dataclass(frozen=True)
class JournalFact:
    """One event of the run `_record`."""

    kind: str
    time_ns: int
    writer: str
    """The writer's folder inside the record."""
    segment: int | None
    """The segment that holds it; None where it is in a log still."""
    fields: dict[str, Any]


def journal_facts(record: Path, *kinds: str) -> list[JournalFact]:
    """The events of these kinds, by time."""
    places = (w for attempt in layout.attempts_of(record, JOURNAL) for w in layout.writers_of(record, JOURNAL, attempt))
    facts = [fact for place in places for fact in _facts_of(place) if fact.kind in kinds and _counts(fact)]
    return sorted(facts, key=lambda fact: fact.time_ns)


def _counts(fact: JournalFact) -> bool:
    return all(isinstance(fact.fields.get(name), kind) for name, kind in NEEDED.get(fact.kind, {}).items())


def _facts_of(place: WriterPath) -> Iterator[JournalFact]:
    tail = LogTail(place.folder)
    tail.refresh()  # before the segments: what is being closed meanwhile is then seen at least once
    for number in numbered(place.folder / SEGMENTS, ".json"):
        try:
            last, facts = _closed_facts(place, number)
        except (DamagedError, FileNotFoundError, *READ_ERRORS):
            continue
        tail.forget(last)
        yield from facts
    for _, fact in tail.facts:
        if fact.kind is not None:
            yield JournalFact(fact.kind, fact.time_ns, place.name, None, fact.fields)


def _closed_facts(place: WriterPath, number: int) -> tuple[int, list[JournalFact]]:
    """The last sequence number of a segment, and its events."""
    fields = read_document(place.folder / SEGMENTS / f"{number}.json")
    names = [file["name"] for file in fields["files"] if file["role"] == "facts"]
    lines = [json.loads(line) for n in names for line in (place.folder / SEGMENTS / n).read_bytes().splitlines()]
    facts = [
        JournalFact(line["kind"], int(line["time_ns"]), place.name, number, dict(line["fields"]))
        for line in lines
        if line["kind"] is not None
    ]
    return int(fields["last_sequence"]), facts


def redactions(record: Path) -> dict[str, str]:
    """By SHA-256, why a blob's bytes were removed."""
    return {fact.fields["blob"]: str(fact.fields["reason"]) for fact in journal_facts(record, "redaction")}
