import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from fanal.record import log, logs, owner
from fanal.record import writer as module
from fanal.record.layout import LOG, numbered
from fanal.record.notice import Notices
from fanal.record.segments.tail import LogTail
from fanal.record.writer import Writer
from fanal.record.writers import new_place


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    (tmp_path / "runs" / "r" / "1").mkdir(parents=True)
    return Writer(new_place(tmp_path, "r", 1), Notices("r"))


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


def test_a_clock_that_goes_back_or_far_ahead_keeps_its_times(writer: Writer) -> None:
    group = writer.group(("a",), (float,))
    times = [10**18, 10**18 + 1, 5, 2**62, 10**18, 0, -(2**63)]
    for time_ns in times:
        writer.row(group, 0, (1.0,), time_ns)
    writer.abandon()
    (found,) = tail(writer).groups.values()
    assert list(found.times_ns) == times


def test_what_a_signals_handler_logs_in_the_midst_of_a_row_follows_it(writer: Writer) -> None:
    """A handler runs between two instructions of the thread that it interrupts, also inside `row`."""
    wide, group = writer.group(tuple(f"k{n}" for n in range(300)), (float,) * 300), writer.group(("n",), (int,))
    handled: list[int] = []

    def handle(*_: object) -> None:
        number = len(handled)
        handled.append(number)
        writer.row(group, number, (number,))
        writer.event("note", number, {"text": str(number)})

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    step = 0
    while len(handled) < 300:
        writer.row(wide, step, tuple(float(step + k) for k in range(300)))
        step += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    writer.abandon()
    found = tail(writer)
    assert not found.damage
    assert not found.missing
    # A handler may itself be interrupted by the next one, so that their order is theirs.
    assert sorted(int(fact.fields["text"]) for _, fact in found.facts) == handled
    assert sorted(found.groups[frozenset(("n",))].steps) == handled
    rows = found.groups[frozenset(wide.keys)]
    assert list(rows.steps) == list(range(step))
    assert memoryview(rows.values).cast("d")[300 * 7 + 5] == 12.0


def test_a_handler_may_end_the_writer_in_the_midst_of_a_row(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    group = writer.group(("n",), (int,))
    writer.row(group, 0, (0,))
    row = logs.Logs._plain_row

    def interrupted(self: logs.Logs, *arguments: Any) -> None:
        monkeypatch.undo()
        writer.event("note", None, {"text": "terminated"})
        writer.abandon()
        raise SystemExit

    monkeypatch.setattr(logs.Logs, "_plain_row", interrupted)
    with pytest.raises(SystemExit):
        writer.row(group, 1, (1,))
    assert row is logs.Logs._plain_row
    found = tail(writer)
    assert [fact.fields["text"] for _, fact in found.facts] == ["terminated"]
    assert list(found.groups[frozenset(("n",))].steps) == [0]
    assert not found.missing
    assert not found.damage


def test_the_log_is_touched_so_that_others_see_the_writer_live(writer: Writer) -> None:
    assert owner.TOUCH_SECONDS * 3 < owner.SILENT_SECONDS
    writer.abandon()


def of_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> Writer:
    monkeypatch.setattr(module, "SYNC_SECONDS", seconds)
    (tmp_path / "runs" / "r" / "1").mkdir(parents=True)
    return Writer(new_place(tmp_path, "r", 1), Notices("r"))


def test_the_thread_survives_what_a_part_of_its_work_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    writer, calls = of_interval(tmp_path, monkeypatch, 0.01), threading.Semaphore(0)

    def broken() -> None:
        calls.release()
        raise IndexError("pop from an empty deque")

    monkeypatch.setattr(writer._logs, "sync", broken)
    assert all(calls.acquire(timeout=30) for _ in range(3))
    writer.row(writer.group(("n",), (int,)), 0, (0,))
    assert writer._thread.is_alive()
    writer.abandon()
    assert list(tail(writer).groups[frozenset(("n",))].steps) == [0]
    assert capfd.readouterr().err.count("pop from an empty deque") == 1


def test_the_thread_ends_while_the_thread_that_waits_for_it_has_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `finish` in a signal's handler that came in the midst of a row, a closing being due."""
    writer, asked = of_interval(tmp_path, monkeypatch, 0.01), threading.Event()
    monkeypatch.setattr(writer._closing, "start", lambda how: asked.set() or True)
    with writer._lock:
        writer._due = True
        assert asked.wait(30)
        writer._stop.set()
        writer._thread.join(10)
        waits = writer._thread.is_alive()
    assert not waits
    writer.abandon()


def test_rows_of_a_forgotten_group_ask_for_one_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_GROUPS", 1)
    monkeypatch.setattr(module, "CLOSE_ROWS", 10)
    writer = of_interval(tmp_path, monkeypatch, 3600.0)
    group, asked = writer.group(("n",), (int,)), 0
    writer.group(("m",), (int,))
    assert group not in writer._logs.groups.values()
    for step in range(95):
        writer.row(group, step, (step,))
        asked += writer._due
        writer._restart_count()
    writer.abandon()
    assert asked == 9
