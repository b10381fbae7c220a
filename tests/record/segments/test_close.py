"""Closing in the midst of writing and reading, and closing that is killed at each of its system calls."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.layout import all_writers
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record
from fanal.record.segments.close import close
from tests.worlds.record import wide_key, wide_record, wide_value

CLOSE_ROWS, ROWS = 100, 170

# Logs a run that dies with its log unclosed, then closes copies of it in forked children that stop at the k-th call.
KILL = """
import os, shutil, signal, sys
from pathlib import Path
from fanal.record.segments import close as closing
from fanal.record.layout import all_writers
from fanal.record.attempt import Start, start

folder, rows = Path(sys.argv[1]), int(sys.argv[2])
closing.CLOSE_ROWS = 100
if os.fork() == 0:
    run = start(folder / "template", Start(id="a"))
    for n in range(rows):
        run.log({"x": n / 7, "n": n}, n)
        if n % 20 == 0:
            run.log({"eval": float(n), "big": 2**60 + n}, n)
    run.event("note", text="last")
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()

if sys.argv[3] == "template only":
    sys.exit()

def stop_at(call):
    left = [call]
    def counted(function):
        def wrapper(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return function(*arguments, **named)
        return wrapper
    for name in ("fsync", "replace", "unlink", "write", "rename", "mkdir", "rmdir", "link", "truncate", "pwrite"):
        setattr(os, name, counted(getattr(os, name)))

call, every = 0, int(sys.argv[3])
while True:
    call += every
    copy = folder / f"killed{call}"
    shutil.copytree(folder / "template", copy)
    if os.fork() == 0:
        stop_at(call)
        (writer,) = all_writers(copy)
        closing.close(writer, aged=True)
        closing.close(writer, everything=True)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.wait()[1]) == 0:
        break
print(call)
"""


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.drill)])
def test_a_closing_killed_at_any_call_leaves_every_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr("fanal.record.segments.close.CLOSE_ROWS", CLOSE_ROWS)
    done = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path), str(ROWS), str(every)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    assert calls > 60
    template = content(tmp_path / "template")
    assert template["x"] == [n / 7 for n in range(ROWS)]
    for call in range(every, calls + 1, every):
        copy = tmp_path / f"killed{call}"
        assert content(copy) == template, call
        report = verify(copy)
        assert report.ok, (call, report.words)
        (writer,) = all_writers(copy)
        close(writer, everything=True)
        assert content(copy) == template, call
        report = verify(copy)
        assert report.ok, (call, report.words)
        assert "of a closing under way" not in report.words, report.words
        assert not list(copy.rglob("*.log"))
        assert report.counts["segments"] in (2, 3)  # two where it was killed before all that was there was closed


def content(folder: Path) -> dict[str, list[object]]:
    view = fanal.open(folder).runs["a"]
    rows = {key: list[object](view.exact(key)) for key in view.keys()}  # noqa: SIM118
    events = [(event.sequence, event.kind, event.fields.get("text")) for event in view.events()]
    return rows | {"steps": view.series("x").steps.tolist(), "events": [*events]}


def test_a_reader_sees_each_row_once_while_segments_close(tmp_path: Path) -> None:
    code = """
        import sys, time, fanal
        run = fanal.init(dir=sys.argv[1], id="a")
        for n in range(14_000):
            run.log({"x": n / 3, "y": float(n)}, n)
            if n % 100 == 0:
                time.sleep(0.01)
        fanal.finish()
    """
    folder = tmp_path / "r"
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(folder)]) as writer:
        while not (folder / "runs").exists():
            time.sleep(0.01)
        record, looks, segments = Record(folder), 0, set[int]()
        while writer.poll() is None:
            record.refresh()
            if "a" in record.runs and record.runs["a"].keys():
                view = record.runs["a"]
                series = view.series("x")
                assert series.steps.tolist() == list(range(len(series)))
                assert series.values[-1] == (len(series) - 1) / 3
                segments.add(len(view.writers()[0].segments))
                looks += 1
    assert writer.returncode == 0
    record.refresh()
    assert record.runs["a"].series("y").values.tolist() == [float(n) for n in range(14_000)]
    assert looks > 10
    assert len(segments) > 1
    assert not list(folder.rglob("*.log"))
    assert verify(folder).ok


def test_a_segment_holds_at_most_4096_rows_and_files_at_most_a_mebibyte(tmp_path: Path) -> None:
    folder = wide_record(tmp_path / "r", 300, 4100)
    (writer,) = Record(folder).runs["wide"].writers()
    assert [segment.groups[0].num_rows for segment in writer.segments] == [4096, 4]
    assert max(path.stat().st_size for path in folder.rglob("*")) <= 1 << 20
    series = Record(folder).runs["wide"].series(wide_key(299))
    assert series.values.tolist() == [wide_value(299, row) for row in range(4100)]


def test_keys_logged_each_on_its_own_share_files(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(30):
        for key in range(200):
            run.log({f"k{key}": float(key + step)}, step)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert all(view.series(f"k{key}").values.tolist() == [float(key + s) for s in range(30)] for key in range(200))
    assert len([path for path in (tmp_path / "r").rglob("*") if path.is_file()]) < 12


def test_value_files_are_parquet_that_others_read(tmp_path: Path) -> None:
    folder = wide_record(tmp_path / "r", 40, 700)
    (values,) = [pq.read_table(path) for path in sorted(folder.rglob("*.values*.parquet"))]
    rows = pq.read_table(next(folder.rglob("*.rows0.parquet")))
    one = values.filter(pc.field("key") == wide_key(7))
    assert one["value"].to_pylist() == [wide_value(7, row) for row in range(700)]
    assert one["step"].to_pylist() == rows["step"].to_pylist() == list(range(0, 7000, 10))
    assert one["row"].to_pylist() == rows["row"].to_pylist()
    assert values.num_rows == 40 * 700
    schema = pq.read_schema(next(folder.rglob("*.values0.parquet")))
    assert not any(field.nullable for field in schema)
    metadata = pq.ParquetFile(next(folder.rglob("*.values0.parquet"))).metadata
    assert metadata.row_group(0).column(3).path_in_schema == "value"
    assert metadata.row_group(0).column(3).statistics is None


def test_closing_again_changes_nothing(tmp_path: Path) -> None:
    folder = wide_record(tmp_path / "r", 5, 100)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    (writer,) = all_writers(folder)
    assert close(writer, everything=True) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("size", [0, 16 << 10])
def test_a_last_log_without_a_header_goes_with_the_rest_and_is_recovered_once(tmp_path: Path, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path), "50", "template only"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "template"
    before = content(folder)
    log = next(folder.rglob("1.log"))
    log.with_name("2.log").write_bytes(bytes(size))  # killed between making the file and writing its header
    for name in ("b", "c"):
        fanal.init(dir=folder, id=name)
        fanal.finish()
    assert not list(folder.rglob("*.log"))
    assert content(folder) == before
    record = fanal.open(folder)
    assert [len(record.runs[name].events("recovered")) for name in ("b", "c")] == [1, 0]
    report = verify(folder)
    assert report.ok, report.words


def test_equal_logs_close_to_equal_bytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILL, str(tmp_path), "50", "template only"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        shutil.copytree(tmp_path / "template", tmp_path / name)
        (writer,) = all_writers(tmp_path / name)
        close(writer, everything=True)
        found = [path for path in (tmp_path / name).rglob("*") if path.is_file()]
        files.append({os.path.relpath(path, tmp_path / name): path.read_bytes() for path in found})
    assert files[0] == files[1]
