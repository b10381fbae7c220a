"""Writes one run of a source into a record, exactly once: goes on where the record says that the last import stopped.

A run is opened only when the source has something new, so that importing the same source twice writes nothing. Rows
go through `attempt.start(...).log`; a killed importer loses none and repeats none.
"""

import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fanal.importers.findings import Unreadable
from fanal.importers.items import About, Batch, Begin, Content, Cursor, Fact, Item, Row, RunSource, after, weight
from fanal.importers.report import MAX_NAMED, RunReport, hold_against, measure
from fanal.importers.state import Known, is_empty
from fanal.record import layout
from fanal.record.attempt import Run, Start, start
from fanal.record.reading.read import Record
from fanal.record.recover import refuse_living_writer

STATE_ITEMS = 20_000
STATE_SECONDS = 30.0


class Ingest:
    """One run on its way into the record."""

    def __init__(self, record: Path, kind: str, source: RunSource, known: Known | None) -> None:
        self.source = source
        self.added_rows = 0
        self.last_new = time.monotonic()
        self._record, self._kind = record, kind
        self._run: Run | None = None
        self._id = known.run if known else None
        self._cursor: Cursor = known.cursor if known else source.cursor()
        self._done = known.done if known else 0
        self._skip = self._done
        self._serial = known.serial if known else 0
        self._counts = dict(known.counts) if known else {"rows": 0, "values": 0}
        self._earlier = [Unreadable(*one) for one in known.unreadable] if known else []
        self._num_earlier = known.num_unreadable if known else 0
        self._items = 0
        self._outcome: tuple[str, str | None] = ("finished", None)
        """How the attempt ends that is being written, as far as the source says."""
        self._state_time = time.monotonic()
        if known:
            source.seek(deepcopy(known.cursor))  # the source may write into it

    @property
    def run_id(self) -> str | None:
        """The run's id in the record, once it is there."""
        return self._id

    @property
    def place(self) -> Cursor:
        """The place in the source up to which batches are whole in the record."""
        return self._cursor

    def take(self) -> bool:
        """Write what the source has that is new; whether there was anything."""
        before = self._items
        for batch in self.source.read():
            self.write(batch)
        if self._items != before:
            self.last_new = time.monotonic()
        if self._run and self._items and time.monotonic() - self._state_time > STATE_SECONDS:
            self._state()
        return self._items != before

    def finish(self, look: Callable[[], Record]) -> RunReport:
        """End the run's attempt and report; `look` gives the record as it is by now."""
        self.source.close()
        self.take()
        report = RunReport(self._id or self.source.about().id, added_rows=self.added_rows)
        found = self.source.findings
        report.unreadable, report.num_unreadable = self._unreadable()
        report.torn_bytes, report.notes = found.torn_bytes, list(found.notes)
        if self._run is None and self._id is None:
            return report
        if self._run is not None:
            self._state()
        assert self._id is not None
        view = look().runs[self._id]
        measure(view, report, self._counts)
        hold_against(view, found.expected, report)
        if self._run is not None:
            self._run.event("imported", source_kind=self._kind, report=_as_fields(report))
            self._end()
        return report

    def rest(self) -> None:
        """Close the run's files while its source is silent; the next row opens them again."""
        if self._run is not None:
            self._state()
            self._end()

    def abandon(self) -> None:
        """Close the run's files after an error; the next import counts what is in."""
        if self._run is not None:
            self._run.finish("interrupted", "the import stopped")
            self._run = None

    def _end(self) -> None:
        assert self._run is not None
        self._run.finish(*self._outcome)
        self._run = None

    def write(self, batch: Batch) -> None:
        """Put a batch into the record, without what earlier imports have put there."""
        if batch.begin is not None:
            assert not batch.items
            self._begin(batch.begin, batch.cursor)
            return
        items = batch.items
        if self._skip:
            skipped = min(self._skip, sum(map(weight, items)))
            items = after(items, skipped)
            self._skip -= skipped
        if items:
            run = self._run or self._open(None)
            self._log(run, items)
            self._items += len(items)
        about = self.source.about()
        self._outcome = (about.outcome, about.reason)
        if not self._skip:
            self._cursor, self._done = batch.cursor, 0
        if self._run and self._items >= STATE_ITEMS:
            self._state()

    def _log(self, run: Run, items: list[Item]) -> None:
        log = run.log
        rows = values = 0
        for item in items:
            if type(item) is Row:
                log(item.values, item.step, item.time_ns)
                rows += 1
                values += len(item.values)
            elif isinstance(item, Fact):
                run.event(item.kind, item.step, item.time_ns, **_with_blobs(run, item.fields))
            else:
                log(item.values, item.step, item.time_ns)
        self._counts["rows"] += rows
        self._counts["values"] += values
        self.added_rows += rows

    def _begin(self, begin: Begin, cursor: Cursor) -> None:
        if self._run is not None:
            self._end()
        self._cursor, self._done, self._skip = cursor, 0, 0
        self._open(begin)

    def _open(self, begin: Begin | None) -> Run:
        about = self.source.about()
        self._id = self._id or self._choose_id(about)
        refuse_living_writer(self._record, self._id)
        how = Start(
            project=about.project,
            id=self._id,
            name=about.name or about.id,
            cause="import",
            config=about.config,
            group=about.group,
            job_type=about.job_type,
            tags=about.tags,
            notes=about.notes,
            from_step=begin.from_step if begin else None,
            shared=begin is None,
        )
        self._run = start(self._record, how)
        self._state()
        return self._run

    def _choose_id(self, about: About) -> str:
        """The source's own id; with a number where another run has it."""
        layout.open_record(self._record)
        wanted = layout.run_id_from(about.id)
        taken = set(layout.runs_of(self._record))
        number, chosen = 1, wanted
        while chosen in taken and not is_empty(self._record, chosen):
            number += 1
            chosen = f"{wanted}-{number}"
        return chosen

    def _state(self) -> None:
        assert self._run is not None
        self._serial += 1
        unreadable, number = self._unreadable()
        state: dict[str, Any] = {
            "serial": self._serial,
            "cursor": self._cursor,
            "done": self._done,
            "counts": self._counts,
            "unreadable": [[one.where, one.what] for one in unreadable],
            "num_unreadable": number,
        }
        self._run.event("import.state", source_kind=self._kind, state=state)
        self._items, self._state_time = 0, time.monotonic()

    def _unreadable(self) -> tuple[list[Unreadable], int]:
        """What earlier imports and this one could not read, each named once."""
        new = [one for one in self.source.findings.unreadable if one not in self._earlier]
        return (self._earlier + new)[:MAX_NAMED], self._num_earlier + len(new)


def _with_blobs(run: Run, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {n: run.blob(v.data, v.media_type) if isinstance(v, Content) else v for n, v in fields.items()}


def _as_fields(report: RunReport) -> dict[str, Any]:
    return {name: value for name, value in asdict(report).items() if name != "run"}
