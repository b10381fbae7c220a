"""What waits where the log cannot grow, alone and in a writer on a disk that is full and has space again."""

import errno
import os
from pathlib import Path

import pytest

import fanal
from fanal.record import ring as rings
from fanal.record.attempt import Start, start
from fanal.record.frames import Fact
from fanal.record.notice import Notices
from fanal.record.proof.verify import verify
from fanal.record.ring import ENTRY_BYTES, Held, Ring
from fanal.record.segments.tail import LogTail
from fanal.record.writer import Writer
from fanal.record.writers import new_place


class Disk:
    """`os.pwrite` that finds no space while `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self._write = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._pwrite)

    def _pwrite(self, handle: int, data: bytes, position: int) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(handle, data, position)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.setattr("fanal.record.writer.SYNC_SECONDS", 3600.0)  # the tests say when the thread tries again
    return Disk(monkeypatch)


@pytest.fixture
def writer(tmp_path: Path, disk: Disk) -> Writer:
    (tmp_path / "runs" / "r" / "1").mkdir(parents=True)
    return Writer(new_place(tmp_path, "r", 1), Notices("r"))


def tail(writer: Writer) -> LogTail:
    found = LogTail(writer.place.folder)
    found.refresh()
    return found


def gaps(found: LogTail) -> list[Fact]:
    return [fact for _, fact in found.facts if fact.kind == "gap"]


def fill(writer: Writer, first: int, last: int) -> None:
    group = writer.group(("x", "n"), (float, int))
    for step in range(first, last):
        writer.row(group, step, (step / 4, 2**60 + step if step % 50 == 0 else step))


def test_a_ring_keeps_the_newest_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "RING_BYTES", 10 * (ENTRY_BYTES + 100))
    held = Ring(reason="full")
    for step in range(30):
        held.add(Held(step if step != 5 else None, bytes(100)))
    assert [frame.step for frame in held.frames] == list(range(20, 30))
    gap = held.gap()
    assert (gap["frames"], gap["first_step"], gap["last_step"], gap["reason"]) == (20, 0, 19, "full")
    held.said()
    assert held
    while held.frames:
        held.pop()
    assert not held


def test_what_waits_is_logged_in_order_when_there_is_space_again(writer: Writer, disk: Disk) -> None:
    fill(writer, 0, 100)
    disk.full = True
    fill(writer, 100, 2000)
    writer.event("note", 7, {"text": "in between"})
    fill(writer, 2000, 3000)
    assert len(next(iter(tail(writer).groups.values())).steps) < 1500
    disk.full = False
    fill(writer, 3000, 3100)  # waits behind the others
    writer.abandon()
    found = tail(writer)
    (group,) = found.groups.values()
    assert list(group.steps) == list(range(3100))
    assert not found.missing
    assert not found.damage
    assert gaps(found) == []
    (note,) = [(s, fact) for s, fact in found.facts if fact.kind == "note"]
    before = max(s for s, step in zip(group.sequences, group.steps, strict=True) if step < 2000)
    after = min(s for s, step in zip(group.sequences, group.steps, strict=True) if step >= 2000)
    assert before < note[0] < after
    exact = {s: dict(values) for s, values in group.exact.items()}
    assert len(exact) == 62
    assert all("$int" in values["n"] for values in exact.values())


def test_what_found_no_place_is_a_gap_with_empty_sequence_numbers(
    writer: Writer, disk: Disk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rings, "RING_BYTES", 50 * (ENTRY_BYTES + 32))
    fill(writer, 0, 10)
    disk.full = True
    fill(writer, 10, 2000)
    disk.full = False
    writer.abandon()
    found = tail(writer)
    (group,) = found.groups.values()
    (gap,) = gaps(found)
    lost = gap.fields["frames"]
    assert 1000 < lost < 1950
    first, last = gap.fields["first_step"], gap.fields["last_step"]
    assert (last - first + 1, first > 10, 1945 < last < 1955) == (lost, True, True)
    assert list(group.steps) == [*range(first), *range(last + 1, 2000)]
    assert [last - first + 1 for first, last in found.missing] == [lost]
    assert gap.fields["reason"] == os.strerror(errno.ENOSPC)
    assert capfd.readouterr().err.count("the log cannot grow") == 1


def test_a_disk_that_stays_full_ends_in_one_line_and_no_error(
    writer: Writer, disk: Disk, capfd: pytest.CaptureFixture[str]
) -> None:
    disk.full = True
    fill(writer, 0, 3000)
    writer.abandon()
    said = capfd.readouterr().err
    assert "frames found no place in the log: No space left on device" in said
    (group,) = tail(writer).groups.values()
    assert list(group.steps) == list(range(len(group.steps)))


def test_a_second_time_without_space_is_a_second_gap(
    writer: Writer, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "RING_BYTES", 20 * (ENTRY_BYTES + 32))
    for first in (0, 5000):
        disk.full = True
        fill(writer, first, first + 3000)
        disk.full = False
        writer._drain()
    writer.abandon()
    found = tail(writer)
    assert [gap.fields["last_step"] for gap in gaps(found)] == [2979, 7979]
    assert sum(last - first + 1 for first, last in found.missing) == sum(g.fields["frames"] for g in gaps(found))


def test_a_gap_that_an_event_tells_of_is_whole_and_noted_open_and_closed(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "RING_BYTES", 50 * (ENTRY_BYTES + 32))
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 0.0}, 0)
    disk.full = True
    for step in range(1, 5000):
        run.log({"x": 1.0}, step)
    disk.full = False
    assert run._writers.public is not None
    run._writers.public._drain()
    for report in (verify(tmp_path / "r"), run.finish() or verify(tmp_path / "r")):
        assert report.exit_code == 0, report.words
        assert "found no place when they were logged; a gap says so" in report.words
    assert len(fanal.open(tmp_path / "r").runs["a"].events("gap")) == 1
