"""What one run of a record wrote itself: its writers, events and attempts, without what other runs add to its view.

Refreshing costs what is new. `Family` is what the runs of a record know of each other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from fanal.record import layout
from fanal.record.events import Event
from fanal.record.owner import withheld_reason
from fanal.record.reading.begun import Attempt, ReadBlob, attempt_of, beginning_of
from fanal.record.reading.lineage import Beginning
from fanal.record.reading.writer_view import WriterView
from fanal.record.segments.segment import Fetch, nowhere
from fanal.record.values import decode


@dataclass(frozen=True)
class Source:
    """Where a record's files come from."""

    path: Path
    read_blob: ReadBlob
    fetch: Fetch = nowhere
    public: bool = False
    """Withheld writers are left out, as in a published copy."""


class OwnRun:
    """One run's own writers, events and attempts, as of the last refresh."""

    def __init__(self, run: str, source: Source) -> None:
        self.id = run
        self.created_ns: int | None = None
        """When the first attempt began; None before any has."""
        self._source = source
        self._writers: dict[int, dict[str, WriterView]] = {}
        self._known: dict[str, Any] = {}

    @property
    def start(self) -> Mapping[str, Any]:
        """What the first attempt said of the run, and what the script has said since; nothing before any."""
        starts = (event.fields for event in self.events() if event.kind == "attempt.start")
        return dict(next(starts, {})) | self._relabelled()

    def _relabelled(self) -> dict[str, Any]:
        """The labels that were set after the beginning (`run.name = …`), the last of each."""
        said = [event.fields for event in self.events() if event.kind == "settings"]
        given = [one["given"] for one in said if one["call"].startswith("run.")]
        return {name: value for labels in given for name, value in labels.items()}

    @property
    def role(self) -> str:
        """`run`, `rung`, `hero`, `campaign` or `record`, as the first attempt said."""
        return self.start.get("role", "run")

    def numbers(self) -> list[int]:
        """The numbers of its attempts, begun or not."""
        return sorted(self._writers)

    def writers(self, attempt: int) -> Mapping[str, WriterView]:
        """The writers of an attempt, in order of their names."""
        return dict(sorted(self._writers.get(attempt, {}).items()))

    def all_writers(self) -> Iterator[tuple[int, str, WriterView]]:
        """Attempt, name and view of each writer."""
        for number in self.numbers():
            for name, view in self.writers(number).items():
                yield number, name, view

    def events(self) -> list[Event]:
        """Every event, by attempt and sequence."""
        return self._once("events", self._find_events)

    def begun(self) -> list[tuple[Attempt, list[Event]]]:
        """The attempts that have begun, with their events."""
        return self._once("begun", self._find_begun)

    def beginnings(self) -> list[Beginning]:
        """Where each attempt began."""
        return self._once("beginnings", lambda: [beginning_of(a, events) for a, events in self.begun()])

    def refresh(self) -> bool:
        """Read what is new; whether anything was."""
        new = False
        for number in layout.attempts_of(self._source.path, self.id):
            known = self._writers.setdefault(number, {})
            for place in layout.writers_of(self._source.path, self.id, number):
                if place.writer not in known and not (self._source.public and withheld_reason(place) is not None):
                    known[place.writer] = WriterView(place, self._source.fetch)
            for writer in known.values():
                new |= writer.refresh()
        if new:
            self._known.clear()
        if self.created_ns is None and self._writers:
            self.created_ns = min((e.time_ns for e in self.events() if e.kind == "attempt.start"), default=None)
        return new

    def _once(self, name: str, work_out: Callable[[], Any]) -> Any:
        """A result that is kept until something new is read."""
        if name not in self._known:
            self._known[name] = work_out()
        return self._known[name]

    def _find_events(self) -> list[Event]:
        events = [
            Event(f.kind, self.id, number, writer, sequence, f.time_ns, f.step, decode(f.fields))
            for number, writer, view in self.all_writers()
            for sequence, f in view.facts()
            if f.kind is not None
        ]
        return sorted(events, key=lambda event: (event.attempt, event.sequence))

    def _find_begun(self) -> list[tuple[Attempt, list[Event]]]:
        found: list[tuple[Attempt, list[Event]]] = []
        for number, grouped in groupby(self.events(), lambda event: event.attempt):
            events = list(grouped)
            public = [w for w in self._writers[number].values() if withheld_reason(w.place) is None]
            firsts = [step for w in public if (step := w.first_step()) is not None]  # so that a copy shows the same
            attempt = attempt_of(number, events, min(firsts, default=None), self._source.read_blob)
            if attempt is not None:
                found.append((attempt, events))
        return found


@dataclass
class Family:
    """What the runs of a record know of each other."""

    runs: dict[str, OwnRun] = field(default_factory=dict[str, OwnRun])
    campaign: OwnRun | None = None
    journal: OwnRun | None = None

    def beginnings(self, run: str) -> list[Beginning]:
        """The attempts of a run that have begun; none of a run that is not there."""
        return self.runs[run].beginnings() if run in self.runs else []
