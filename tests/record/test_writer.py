from pathlib import Path

import pytest

from fanal.record import log, owner
from fanal.record.layout import LOG, WriterPath, numbered
from fanal.record.notice import Notices
from fanal.record.tail import LogTail
from fanal.record.writer import Writer


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    place = WriterPath(tmp_path, "r", 1, "w")
    place.folder.mkdir(parents=True)
    return Writer(place, Notices("r"))


def tail(writer: Writer) -> LogTail:
    found = LogTail(writer.place.folder)
    found.refresh()
    return found


def test_rows_go_on_over_many_files_each_of_which_names_its_keys(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_FILE_BYTES", 20_000)
    one, two = writer.group(("a", "b"), (float, int)), writer.group(("c",), (bool,))
    for n in range(2000):
        writer.row(one, n, (n / 2, n))
        writer.row(two, n, (n % 3 == 0,))
    writer.event("note", None, {"text": "x" * 50_000})
    writer.abandon()
    numbers = numbered(writer.place.folder / LOG, ".log")
    assert len(numbers) > 8
    for number in numbers[:-1]:
        (writer.place.folder / LOG / f"{number}.log").unlink()
    last = tail(writer)
    assert last.facts[-1][1].fields == {"text": "x" * 50_000}
    assert not last.damage


def test_a_row_wider_than_a_file_is_kept(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_FILE_BYTES", 40_000)
    keys = tuple(f"k{n}" for n in range(10_000))
    group = writer.group(keys, (float,) * len(keys))
    for n in range(3):
        writer.row(group, n, tuple(float(n + k) for k in range(len(keys))))
    writer.abandon()
    (found,) = tail(writer).groups.values()
    assert memoryview(found.values).cast("d").tolist() == [float(n + k) for n in range(3) for k in range(len(keys))]


def test_a_clock_that_goes_back_or_far_ahead_keeps_its_times(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    group = writer.group(("a",), (float,))
    times = [10**18, 10**18 + 1, 5, 2**62, 10**18]
    for time_ns in times:
        monkeypatch.setattr("fanal.record.writer.time.time_ns", lambda time_ns=time_ns: time_ns)
        writer.row(group, 0, (1.0,))
    monkeypatch.undo()
    writer.abandon()
    (found,) = tail(writer).groups.values()
    assert list(found.times_ns) == times


def test_the_log_is_touched_so_that_others_see_the_writer_live(writer: Writer) -> None:
    assert owner.TOUCH_SECONDS * 3 < owner.SILENT_SECONDS
    writer.abandon()
