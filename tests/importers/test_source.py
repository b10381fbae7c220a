"""Importing again, while files grow, and after a kill: everything once; what is bad input is said before anything."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fanal.errors import RecordError, RefusedError
from fanal.importers.source import KINDS, import_source
from fanal.record.attempt import Start, start
from fanal.record.proof.verify import verify
from fanal.record.reading.read import RunView, open_record
from tests.worlds.event_files import name, write_events
from tests.worlds.wandb_files import framed, history, run

LIVE = """
import sys
from pathlib import Path
from fanal.importers.source import import_source
kind, source, into, idle = sys.argv[1:]
print(import_source(kind, Path(source), Path(into), live=True, until_idle_seconds=float(idle) or None).text)
"""


def lines(steps: range) -> str:
    """Rows of which each third has only numbers, the others also words."""
    rows = ({"step": s, "loss": s / 2} if s % 3 == 0 else {"step": s, "loss": s / 2, "text": f"t{s}"} for s in steps)
    return "".join(json.dumps(row) + "\n" for row in rows)


def live(kind: str, source: Path, into: Path, idle: float) -> "subprocess.Popen[str]":
    """An importer in a process of its own."""
    command = [sys.executable, "-c", LIVE, kind, str(source), str(into), str(idle)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def check_lines(into: Path, num: int) -> RunView:
    """Every row is in the record once."""
    (view,) = open_record(into).runs.values()
    series = view.series("loss")
    assert series.steps.tolist() == list(range(num))
    assert series.values.tolist() == [s / 2 for s in range(num)]
    assert (series.num_overwritten, series.num_superseded) == (0, 0)
    words = sorted((o.step, o.value) for o in view.others())
    assert words == [(s, f"t{s}") for s in range(num) if s % 3]
    return view


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_same_source_twice_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(range(50)), "utf-8")
    first = import_source("jsonl", tmp_path / "a.jsonl", tmp_path / "record")
    before = files_of(tmp_path / "record")
    second = import_source("jsonl", tmp_path / "a.jsonl", tmp_path / "record")
    assert files_of(tmp_path / "record") == before
    assert (first.runs[0].added_rows, second.runs[0].added_rows) == (50, 0)
    assert (second.runs[0].rows, second.runs[0].values) == (50, 50)
    assert "nothing new" in second.text


def test_a_grown_source_adds_what_is_new_to_the_same_attempt(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for num in (10, 25, 40):
        path.write_text(lines(range(num)), "utf-8")
        import_source("jsonl", path, tmp_path / "record")
    assert len(check_lines(tmp_path / "record", 40).attempts) == 1
    assert verify(tmp_path / "record").exit_code == 0


def test_a_moved_source_is_known_again_and_another_of_its_name_is_not(tmp_path: Path) -> None:
    for folder, steps in (("x", range(30)), ("y", range(30)), ("z", range(100, 130))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").write_text(lines(steps), "utf-8")
        import_source("jsonl", tmp_path / folder / "a.jsonl", tmp_path / "record")
    runs = open_record(tmp_path / "record").runs
    assert {key: len(view.series("loss")) for key, view in runs.items()} == {"a": 30, "a-2": 30}


def test_a_run_of_the_same_name_that_is_no_import_is_left_alone(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="a"))
    run.log({"loss": 1.0}, 0)
    run.finish()
    (tmp_path / "a.jsonl").write_text(lines(range(3)), "utf-8")
    import_source("jsonl", tmp_path / "a.jsonl", tmp_path / "record")
    runs = open_record(tmp_path / "record").runs
    assert {key: len(view.series("loss")) for key, view in runs.items()} == {"a": 1, "a-2": 3}


def test_a_run_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    path, into = tmp_path / "a.jsonl", tmp_path / "record"
    path.write_text(lines(range(5)), "utf-8")
    process = live("jsonl", path, into, 0)
    try:
        deadline = time.monotonic() + 20
        while not (into / "runs").is_dir() or not open_record(into).runs:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGSTOP)  # so that it does not take the new rows first
        path.write_text(lines(range(9)), "utf-8")
        with pytest.raises(RefusedError, match="is being written by process"):
            import_source("jsonl", path, into)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [("parquet", {}, "knows no kind 'parquet'"), ("csv", {"until_idle_seconds": 1.0}, "belongs to --live")],
)
def test_bad_arguments_are_said(tmp_path: Path, kind: str, more: dict[str, float], words: str) -> None:
    with pytest.raises(RecordError, match=words):
        import_source(kind, tmp_path, tmp_path / "record", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "wandb-online"])
def test_an_absent_source_and_an_empty_folder_are_bad_input_and_leave_no_record(tmp_path: Path, kind: str) -> None:
    (tmp_path / "empty").mkdir()
    for source in ("absent", "empty"):
        with pytest.raises(RecordError):
            import_source(kind, tmp_path / source, tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_live_reads_what_is_new_while_it_comes_and_ends_when_nothing_does(tmp_path: Path) -> None:
    path, into = tmp_path / "a.jsonl", tmp_path / "record"
    reports: list[str] = []
    thread = threading.Thread(
        target=lambda: reports.append(import_source("jsonl", path, into, live=True, until_idle_seconds=2.5).text)
    )
    thread.start()
    with path.open("w", encoding="utf-8") as file:
        for part in range(4):
            file.write(lines(range(part * 10, part * 10 + 10)) + '{"step": 99, "lo')
            file.flush()
            time.sleep(0.6)
            file.seek(file.tell() - len('{"step": 99, "lo'))
            file.truncate()
    thread.join()
    assert "40 rows" in reports[0]
    check_lines(into, 40)


def test_ctrl_c_ends_a_live_import_with_its_report(tmp_path: Path) -> None:
    path = tmp_path / "log" / name(1)
    write_events(path, [("loss", s, 1.7e9 + s, 0.5) for s in range(50)])
    process = live("tensorboard", tmp_path / "log", tmp_path / "record", 0)
    deadline = time.monotonic() + 20
    while not (tmp_path / "record" / "runs").is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "50 rows" in out


@pytest.mark.drill
@pytest.mark.parametrize("kind", ["jsonl", "tensorboard", "wandb"])
@pytest.mark.parametrize("seed", [1, 2])
def test_an_importer_killed_at_any_moment_loses_and_repeats_nothing(tmp_path: Path, kind: str, seed: int) -> None:
    chance, into, written = random.Random(seed), tmp_path / "record", 0
    source = {"jsonl": tmp_path / "a.jsonl", "tensorboard": tmp_path / "log", "wandb": tmp_path / "a.wandb"}[kind]
    for _ in range(12):
        process = live(kind, source, into, 100)
        ends = time.monotonic() + chance.uniform(0.3, 1.6)
        while time.monotonic() < ends:
            written += chance.randrange(60)
            write_source(kind, source, written)
            time.sleep(chance.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    report = import_source(kind, source, into)
    if kind == "jsonl":
        check_lines(into, written)
    (view,) = open_record(into).runs.values()
    series = view.series("loss")
    assert series.steps.tolist() == list(range(written))
    assert (series.num_overwritten, report.runs[0].duplicates, report.runs[0].missing) == (0, 0, [])
    assert verify(into).exit_code == 0


def write_source(kind: str, source: Path, written: int) -> None:
    """The source with so many rows, put in place at once but for its last bytes, which are cut now and then."""
    if kind == "jsonl":
        data = lines(range(written)).encode()
    elif kind == "wandb":
        data = framed([run("abc"), *(history(s, {"loss": s / 2, "text": "x"}) for s in range(written))])
    else:
        write_events(source.parent / "made", [("loss", s, 1.7e9 + s, s / 2) for s in range(written)], began=1.0)
        data, source = (source.parent / "made").read_bytes(), source / name(1)
    source.parent.mkdir(exist_ok=True)
    have = source.stat().st_size if source.exists() else 0
    with source.open("ab") as file:
        file.write(data[have:])


@pytest.mark.parametrize("seconds", [-3.0, float("nan")])
def test_a_negative_time_to_wait_is_refused(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(RecordError, match="--until-idle must be 0 seconds or more, got"):
        import_source("jsonl", tmp_path / "a", tmp_path / "record", live=True, until_idle_seconds=seconds)
