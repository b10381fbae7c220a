"""Faults of other tools that an import must not carry over: restarts, sampling, torn and damaged files, time zones."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fanal.importers.event_file import EventFile
from fanal.importers.source import import_source
from fanal.importers.wandb_file import read_wandb
from fanal.record.reading.read import RunView, open_record
from tests.worlds import wandb_client
from tests.worlds.event_files import event, field, name, record, simple, version, write_events
from tests.worlds.wandb_files import history, run, write_wandb


def only_run(path: Path) -> RunView:
    """The run of a record that has one."""
    runs = list(open_record(path).runs.values())
    assert len(runs) == 1
    return runs[0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_r11_two_event_files_in_both_orders_are_one_series(tmp_path: Path, order: tuple[int, int]) -> None:
    """Steps 0..150 and 100..200, the files listed in both orders."""
    named = [tmp_path / "log" / f"{'ab'[order[part]]}.{name(1_700_000_000)}" for part in (0, 1)]
    write_events(named[0], [("loss", s, 1.7e9 + s, s + 0.25) for s in range(151)])
    write_events(named[1], [("loss", s, 1.7e9 + 500 + s, s + 0.75) for s in range(100, 201)])
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    view = only_run(tmp_path / "record")
    series = view.series("loss")
    assert series.steps.tolist() == list(range(201))
    assert series.values.tolist() == [s + (0.25 if s < 100 else 0.75) for s in range(201)]
    assert series.attempts.tolist() == [1] * 100 + [2] * 101
    assert view.series("loss", attempt=1).steps.tolist() == list(range(151))
    assert series.num_superseded == 51
    assert (report.runs[0].values, report.runs[0].attempts, report.exit_code) == (252, 2, 0)


def test_r11_a_restart_that_says_where_it_begins_supersedes_every_key_from_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_events(log / name(1), [(key, s, 1e9 + s, 1.0) for s in range(20) for key in ("a", "b")])
    start = record(event(2e9, 10, more=field(7, b"\x08\x01")))
    rows = b"".join(record(event(2e9 + s, s, [simple("a", 2.0)])) for s in range(10, 30))
    (log / name(2)).write_bytes(version(2e9) + start + rows)
    import_source("tensorboard", log, tmp_path / "record")
    view = only_run(tmp_path / "record")
    assert view.series("a").values.tolist() == [1.0] * 10 + [2.0] * 20
    assert view.series("b").steps.tolist() == list(range(10))
    assert len(view.series("b", attempt=1)) == 20


def test_r20_every_point_of_a_large_event_file_is_there(tmp_path: Path) -> None:
    """10 MB of points, one of them a spike: the count equals what was written."""
    path = tmp_path / "log" / name(1)
    path.parent.mkdir()
    one = record(event(1.7e9, 1, [simple("train/loss", 0.5)]))
    num = 10_000_000 // len(one)
    spike = record(event(1.7e9, 2, [simple("train/loss", 99.0)]))
    path.write_bytes(version(1.7e9) + one * (num // 2) + spike + one * (num - num // 2 - 1))
    values = np.concatenate([chunk.columns.values[chunk.columns.tag_ids >= 0] for chunk in EventFile(path).read()])
    assert len(values) == num
    assert (values == 99.0).sum() == 1


def test_r23_a_wandb_file_cut_at_every_byte_of_its_last_200_loses_one_record_at_most(tmp_path: Path) -> None:
    rows = [history(step, {"loss": step / 7, "accuracy": 1.0}) for step in range(40)]
    data = write_wandb(tmp_path / "whole.wandb", [run("abc"), *rows]).read_bytes()
    cut = tmp_path / "cut.wandb"
    for size in range(len(data) - 200, len(data) + 1):
        cut.write_bytes(data[:size])
        whole = [len(write_wandb(tmp_path / "part.wandb", [run("abc"), *rows[:n]]).read_bytes()) for n in range(36, 41)]
        wanted = 35 + sum(end <= size for end in whole)
        assert len(read_wandb(cut).history) == wanted
    cut.write_bytes(data[:-5])
    report = import_source("wandb", cut, tmp_path / "record")
    assert (report.exit_code, report.runs[0].rows) == (0, 39)
    assert "torn tail" in report.text
    cut.write_bytes(data)
    assert import_source("wandb", cut, tmp_path / "record").runs[0].rows == 40


TIMES = """
import sys
from pathlib import Path
from fanal.importers.source import import_source
from fanal.record.reading.read import open_record
for kind, file in (("csv", "t.csv"), ("jsonl", "t.jsonl")):
    import_source(kind, Path(file), Path("record-" + kind))
    view = next(iter(open_record("record-" + kind).runs.values()))
    print(view.series("loss").times_ns.tolist())
"""
SPRING = [1_774_745_999, 1_774_746_000, 1_774_746_001]
"""Seconds around the change to summer time in Europe, 2026-03-29 01:00 UTC."""


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"])
def test_r31_wall_times_are_the_sources_own_in_any_zone_and_across_a_clock_change(tmp_path: Path, zone: str) -> None:
    naive = ["2026-03-29 00:59:59", "2026-03-29T01:00:00", "2026-03-29 01:00:01.000000"]
    (tmp_path / "t.csv").write_text(
        "step,timestamp,loss\n" + "".join(f"{i},{words},0.5\n" for i, words in enumerate(naive)), "utf-8"
    )
    stamps = [SPRING[0], SPRING[1] * 1000, "2026-03-29T06:30:01+05:30"]
    rows = [json.dumps({"step": i, "timestamp": stamp, "loss": 0.5}) for i, stamp in enumerate(stamps)]
    (tmp_path / "t.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", TIMES],
        cwd=tmp_path,
        env={**os.environ, "TZ": zone, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = [second * 10**9 for second in SPRING]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [wanted, wanted]


def test_r31_a_source_without_times_is_not_stamped_with_the_imports(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("step,loss\n0,0.5\n1,0.25\n", "utf-8")
    import_source("csv", tmp_path / "t.csv", tmp_path / "record")
    assert only_run(tmp_path / "record").series("loss").times_ns.tolist() == [0, 0]


def test_r35_a_torn_tail_stops_quietly_and_goes_on_when_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "log" / name(1)
    write_events(path, [("loss", s, 1.7e9 + s, 0.5) for s in range(50)])
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    assert (report.runs[0].rows, report.exit_code) == (49, 0)
    assert "torn tail" in report.text
    path.write_bytes(data)
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    assert (report.runs[0].rows, report.runs[0].added_rows, report.runs[0].torn_bytes) == (50, 1, 0)


def test_r35_a_bad_checksum_in_the_middle_is_reported_with_its_byte_and_passed(tmp_path: Path) -> None:
    path = tmp_path / "log" / name(1)
    starts = write_events(path, [("loss", s, 1.7e9 + s, 0.5) for s in range(50)])
    data = bytearray(path.read_bytes())
    for start in (starts[10] + 20, starts[20] + 2):  # a record's data, and another's length
        data[start] ^= 4
    path.write_bytes(data)
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    assert (report.runs[0].rows, report.exit_code) == (48, 1)
    assert [one.where for one in report.runs[0].unreadable] == [f"{path.name} byte {starts[at]}" for at in (20, 10)]
    assert only_run(tmp_path / "record").series("loss").steps.tolist() == [s for s in range(50) if s not in (9, 19)]
    assert struct.unpack_from("<Q", data, starts[20])[0] != struct.unpack_from("<Q", data, starts[21])[0]


@pytest.mark.parametrize("keys", [("a",), ("b",), ("a", "b"), ("b", "a", "c")])
def test_r21_a_key_in_26_rows_of_100_000_has_26_points_with_any_subset_of_keys(
    online_100k: Path, keys: tuple[str, ...]
) -> None:
    view = only_run(online_100k)
    wanted = {"a": list(range(100_000)), "b": list(range(0, 26 * 3000, 3000)), "c": [99_999]}
    assert {key: view.series(key).steps.tolist() for key in keys} == {key: wanted[key] for key in keys}


def test_r21_what_the_server_says_it_has_and_did_not_send_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = wandb_client.Run([{"_step": s, "a": 0.5} for s in range(100)], claimed_rows=120)
    online.lastHistoryStep = 119
    online.historyKeys = {"keys": {"a": {"typeCounts": [{"type": "number", "count": 120}]}}}
    wandb_client.use_client(monkeypatch, online)
    report = import_source("wandb-online", "e/p/r1", tmp_path / "record")
    assert report.exit_code == 1
    assert report.runs[0].missing == [
        "a: the source has 120 points, the record 100",
        "the server counts 120 rows, 100 came",
        "the server's last step is 119, the last that came is 99",
    ]


@pytest.fixture(scope="module")
def online_100k(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record imported from a run of 100,000 rows in which `b` stands 26 times and `c` once."""
    rows: list[dict[str, float]] = [{"_step": s, "_timestamp": 1.7e9 + s, "a": s / 2} for s in range(100_000)]
    for number in range(26):
        rows[number * 3000]["b"] = float(number)
    rows[-1]["c"] = 1.0
    folder = tmp_path_factory.mktemp("online")
    with pytest.MonkeyPatch.context() as patch:
        wandb_client.use_client(patch, wandb_client.Run(rows))
        report = import_source("wandb-online", "e/p/r1", folder / "record")
    assert (report.runs[0].rows, report.runs[0].missing) == (100_000, [])
    return folder / "record"
