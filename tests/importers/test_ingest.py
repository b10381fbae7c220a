"""One run on its way in: stopped after any item, it goes on without losing or repeating one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanal.importers.findings import Findings
from fanal.importers.ingest import Ingest
from fanal.importers.items import About, Batch, Begin, Content, Cursor, Fact, Item, Odd, Row
from fanal.importers.state import known_runs
from fanal.record.reading.read import open_record

RESTART = 7


class StoppedError(Exception):
    """Raised in the middle of a source."""


class Source:
    """Rows 0..11 in batches of three, a restart at row 7, and a fault after so many items."""

    def __init__(self, fails_after: int | None) -> None:
        self.findings = Findings()
        self._left = fails_after
        self._at = 0
        self._begun = False

    def about(self) -> About:
        return About("run")

    def owns(self, cursor: Cursor) -> bool:
        return "at" in cursor

    def cursor(self) -> Cursor:
        return {"at": self._at, "begun": self._begun}

    def seek(self, cursor: Cursor) -> None:
        self._at, self._begun = cursor["at"], cursor["begun"]

    def close(self) -> None:
        pass

    def renew(self, found: object) -> None:
        pass

    def read(self) -> Iterator[Batch]:
        while self._at < 12:
            if self._at == RESTART and not self._begun:
                self._begun = True
                yield Batch([], self.cursor(), Begin(4))
            end = min(self._at + 3, 12 if self._begun else RESTART)
            items = [item for n in range(self._at, end) for item in items_of(n)]
            if self._left is not None and len(items) > self._left:
                yield Batch(items[: self._left], self.cursor() | {"never": True})
                raise StoppedError
            self._left = None if self._left is None else self._left - len(items)
            self._at = end
            yield Batch(items, self.cursor())


def items_of(number: int) -> list[Item]:
    """Two values, words, and an event."""
    step = number if number < RESTART else number - 3
    alert = Fact("alert", {"title": f"t{number}", "text": Content(b"x"), "level": "info"}, step, 5)
    return [Row(step, number, {"a": number, "b": number / 2}), Odd(step, number, {"w": f"w{number}"}), alert]


def bring(into: Path, fails_after: int | None) -> Ingest:
    """One import, with the faulty batch's cursor never kept: as a process that was killed there."""
    source = Source(fails_after)
    known = next(iter(known_runs(into, "jsonl")), None)
    ingest = Ingest(into, "jsonl", source, known)
    try:
        for batch in source.read():
            if "never" in batch.cursor:
                batch.cursor = ingest.place  # what a killed process never came to say
            ingest.write(batch)
    except StoppedError:
        ingest.abandon()
    return ingest


@pytest.mark.parametrize("first", range(0, 37, 4))
@pytest.mark.parametrize("second", [1, 40])
def test_stopped_anywhere_twice_everything_is_there_once(tmp_path: Path, first: int, second: int) -> None:
    into = tmp_path / "record"
    for fails_after in (first, second):
        bring(into, fails_after)
    report = bring(into, None).finish(lambda: open_record(into))
    (view,) = open_record(into).runs.values()
    assert (report.rows, report.values, report.missing) == (12, 24, [])
    assert sorted(o.value for o in view.others()) == sorted(f"w{n}" for n in range(12))
    assert sorted(e.fields["title"] for e in view.events("alert")) == sorted(f"t{n}" for n in range(12))
    assert view.series("a").values.tolist() == [0, 1, 2, 3, 7, 8, 9, 10, 11]


def test_a_silent_source_gives_its_files_back_and_goes_on_in_the_same_attempt(tmp_path: Path) -> None:
    source = Source(None)
    ingest = Ingest(tmp_path / "record", "jsonl", source, None)
    for number in range(4):
        ingest.write(Batch(items_of(number), {"at": number + 1, "begun": True}))
        ingest.rest()
    source.seek({"at": 4, "begun": True})
    report = ingest.finish(lambda: open_record(tmp_path / "record"))
    (view,) = open_record(tmp_path / "record").runs.values()
    assert (report.rows, len(view.attempts), len(view.writers())) == (12, 1, 5)
    assert view.series("a").values.tolist() == [0, 1, 2, 3, 7, 8, 9, 10, 11]
