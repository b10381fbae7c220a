import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.errors import RecordError
from fanal.record.attempt import Run, Start, start
from fanal.record.files import read_document, seal
from fanal.record.layout import WriterPath, write_owner
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.verify import verify
from tests.worlds.writers import ended_writer


@pytest.fixture
def record(tiny: Path, tmp_path: Path) -> Path:
    """A copy of `tiny_record` to damage."""
    shutil.copytree(tiny, tmp_path / "r")
    return tmp_path / "r"


def files(record: Path) -> list[Path]:
    return sorted(path for path in record.rglob("*") if path.is_file())


def test_a_whole_record_is_said_to_be_whole_and_unsigned(tiny: Path) -> None:
    report = verify(tiny)
    assert (report.ok, report.exit_code, report.first_bad) == (True, 0, None)
    assert "whole, unsigned; 1 run," in report.words
    said = report.to_json()
    assert (said["ok"], said["signed"], said["counts"]["segments"], said["counts"]["attempts"]) == (True, False, 2, 2)
    assert said["counts"]["files"] == len(files(tiny))
    assert verify(tiny.parent).ok


def test_one_changed_byte_of_any_file_is_found_and_the_file_named(record: Path) -> None:
    roles = {path.name.partition(".")[2] for path in files(record)}
    assert {"json", "values0.parquet", "rows0.parquet", "names0.json.gz", "facts0.jsonl", "exact0.jsonl"} <= roles
    for path in files(record):
        data = path.read_bytes()
        for position in {0, 1, len(data) // 3, len(data) // 2, len(data) - 2, len(data) - 1}:
            changed = bytearray(data)
            changed[position] ^= 4
            path.write_bytes(changed)
            report = verify(record)
            assert report.exit_code == 1, (path, position)
            assert report.first_bad == path.relative_to(record).as_posix(), (position, report.words)
        path.write_bytes(data)
    assert verify(record).ok


def test_a_missing_or_cut_file_is_found_and_named(record: Path) -> None:
    for path in files(record):
        data = path.read_bytes()
        path.unlink()
        report = verify(record)
        assert (report.exit_code, report.first_bad) == (1, path.relative_to(record).as_posix()), report.words
        path.write_bytes(data[:-1])
        assert verify(record).first_bad == path.relative_to(record).as_posix()
        path.write_bytes(data)


def test_a_file_that_does_not_belong_is_named(record: Path) -> None:
    segments = next(record.glob("runs/tiny/1/*/seg"))
    for name in ("notes.txt", "runs/tiny/x", "blobs/" + "0" * 64, "blobs/readme", str(segments / "9.json.bak")):
        path = record / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        report = verify(record)
        assert report.exit_code == 1, name
        assert report.first_bad == path.relative_to(record).as_posix()
        path.unlink()
    (record / "link").symlink_to("/etc")
    assert verify(record).first_bad == "link"


def test_what_a_crash_leaves_is_named_and_told_apart(record: Path) -> None:
    seg = killed(record).parents[1] / "seg"
    (record / ".tmp-0123").write_text("half")
    (seg / "1.values0.parquet").write_text("half")
    report = verify(record)
    assert report.ok
    assert ".tmp-0123: left by a process that was interrupted" in report.words
    assert "1.values0.parquet: of a closing under way or interrupted" in report.words


def test_a_whole_attempt_run_or_last_segment_that_is_gone_is_found(record: Path) -> None:
    segments = next(record.glob("runs/tiny/2/*/seg"))
    for path in segments.glob("1.*"):
        path.unlink()
    assert (verify(record).first_bad or "").endswith("seg/1.json")
    shutil.rmtree(record / "runs/tiny/2")
    assert (verify(record).first_bad or "").endswith("owner.json")
    shutil.rmtree(record / "runs")
    assert verify(record).exit_code == 1


def test_a_segment_that_was_forged_whole_breaks_the_chain(record: Path) -> None:
    path = next(record.glob("runs/tiny/1/*/seg/1.json"))
    fields: dict[str, Any] = json.loads(path.read_bytes())
    del fields["self"]
    path.write_bytes(seal(fields | {"last_sequence": fields["last_sequence"] - 1}))
    report = verify(record)
    assert report.first_bad == path.relative_to(record).as_posix()
    assert "is not the one that manifest.json names" in report.words


def test_files_of_two_segments_exchanged_are_found(record: Path) -> None:
    one, two = (next(record.glob(f"runs/tiny/{n}/*/seg/1.rows0.parquet")) for n in (1, 2))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert verify(record).exit_code == 1


def test_what_is_no_record_or_a_newer_one_is_bad_input(tmp_path: Path, record: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "absent"):
        with pytest.raises(RecordError, match="is no record") as caught:
            verify(path)
        assert caught.value.exit_code == 2
    (record / "record.json").write_bytes(seal({"format": 2, "kind": "record"}))
    with pytest.raises(RecordError, match="format 2"):
        verify(record)


def killed(folder: Path) -> Path:
    """A record whose only run was killed; its log file."""
    code = """
import os, signal, sys, fanal
run = fanal.init(dir=sys.argv[1], id="a")
for n in range(50):
    run.log({"x": n / 7}, n)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    return next(folder.rglob("*.log"))


def test_an_open_log_is_checked_frame_by_frame(tmp_path: Path) -> None:
    log = killed(tmp_path / "r")
    data = log.read_bytes()
    assert verify(tmp_path / "r").ok
    used = len(data.rstrip(b"\0"))
    for position in range(0, used - 60, 37):
        changed = bytearray(data)
        changed[position] ^= 8
        log.write_bytes(changed)
        report = verify(tmp_path / "r")
        assert report.exit_code == 1, position
        assert report.first_bad == log.relative_to(tmp_path / "r").as_posix()
    log.write_bytes(data[: used - 5])
    report = verify(tmp_path / "r")
    assert report.ok
    assert "torn tail" in report.words
    log.unlink()
    assert verify(tmp_path / "r").first_bad == log.relative_to(tmp_path / "r").as_posix()


def test_damage_that_was_closed_stays_bad_news(tmp_path: Path) -> None:
    log = killed(tmp_path / "r")
    data = bytearray(log.read_bytes())
    data[len(data.rstrip(b"\0")) - 200] ^= 1
    log.write_bytes(data)
    start(tmp_path / "r", Start(id="b")).finish()
    report = verify(tmp_path / "r")
    assert report.exit_code == 1
    assert "were damaged or lost before it was closed" in report.words


DOCUMENT: dict[str, Any] = {"quantiles": {"p50": 3.25}, "fingerprint": "0" * 64}


def seal_forecast(run: Run, document: dict[str, Any]) -> None:
    run.event("forecast", sha256=sha256_hex(canonical_json(document)), document=document)


def test_a_forecast_before_the_first_row_is_sealed(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="hero", role="hero"))
    run.log({"warm": 1.0}, -1)
    seal_forecast(run, DOCUMENT)
    run.log({"x": 1.0}, 0)
    assert verify(tmp_path / "r").forecasts[0].sealed_before_step_0
    run.finish()
    later = start(tmp_path / "r", Start(id="hero", from_step=1))
    later.log({"x": 2.0}, 1)
    later.finish()
    report = verify(tmp_path / "r")
    assert report.ok
    assert report.forecasts[0].sealed_before_step_0
    assert report.to_json()["forecasts"][0]["sealed_before_step_0"] is True
    assert "sealed before step 0" in report.words


@pytest.mark.parametrize(("late", "code"), [(False, 1), (True, 0)])
def test_a_forecast_after_a_row_is_not_sealed_and_must_say_so(tmp_path: Path, late: bool, code: int) -> None:
    run = start(tmp_path / "r", Start(id="hero"))
    run.log({"x": 1.0}, 0)
    seal_forecast(run, DOCUMENT | {"late": True} if late else DOCUMENT)
    run.finish()
    report = verify(tmp_path / "r")
    assert not report.forecasts[0].sealed_before_step_0
    assert report.exit_code == code
    assert ("not marked late" in report.words) is not late


def test_a_forecast_of_a_later_attempt_comes_after_the_rows_of_the_first(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="hero"))
    run.log({"x": 1.0}, 5)
    run.finish()
    run = start(tmp_path / "r", Start(id="hero", from_step=0))
    seal_forecast(run, DOCUMENT)
    run.log({"x": 1.0}, 0)
    run.finish()
    assert verify(tmp_path / "r").exit_code == 1


def test_a_forecast_that_is_not_what_its_hash_names_is_said(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="hero"))
    run.event("forecast", sha256="0" * 64, document=DOCUMENT)
    run.event("forecast", sha256="0" * 64, document={"p50": math.nan})
    run.finish()
    report = verify(tmp_path / "r")
    assert [forecast.hash_fits for forecast in report.forecasts] == [False, False]
    assert report.exit_code == 1


def test_a_record_being_written_verifies_at_any_moment(tmp_path: Path) -> None:
    code = """
import sys, time, fanal
run = fanal.init(dir=sys.argv[1], id="a")
for n in range(9_000):
    run.log({"x": n / 3}, n)
    if n % 100 == 0:
        time.sleep(0.01)
fanal.finish()
"""
    folder = tmp_path / "r"
    with subprocess.Popen([sys.executable, "-c", code, os.fspath(folder)]) as writer:
        while not (folder / "manifest.json").exists():
            pass
        while writer.poll() is None:
            report = verify(folder)
            assert report.ok, report.words
    assert verify(folder).ok


def test_runs_that_begin_beside_a_verification_are_no_strangers(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from fanal.record.attempt import Start, start
runs = [start(Path(sys.argv[1]), Start(id=f"r{n}")) for n in range(40)]
os._exit(0)
"""
    folder, looks = tmp_path / "r", 0
    with subprocess.Popen([sys.executable, "-c", code, os.fspath(folder)]) as writer:
        while not (folder / "manifest.json").exists():
            pass
        while writer.poll() is None:
            report = verify(folder)
            assert report.ok, report.words
            looks += 1
    assert looks > 1
    assert verify(folder).counts["runs"] == 40


def test_a_writer_that_committed_after_the_manifest_was_read_is_found_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    start(folder, Start(id="a")).finish()
    read = [read_manifest(folder)]
    start(folder, Start(id="b")).finish()
    monkeypatch.setattr(
        "fanal.record.proof.verify.read_manifest", lambda path: read.pop() if read else read_manifest(path)
    )
    report = verify(folder)
    assert not read
    assert report.ok, report.words
    assert report.counts["runs"] == 2


def test_a_run_that_ended_before_the_first_manifest_was_looked_for_again_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path / "r", Start(id="a")).finish()
    read = [None]
    monkeypatch.setattr(
        "fanal.record.proof.verify.read_manifest", lambda path: read.pop() if read else read_manifest(path)
    )
    assert verify(tmp_path / "r").ok


def test_a_living_writer_that_the_manifest_does_not_name_is_uncommitted_and_a_dead_one_a_stranger(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "r"
    start(folder, Start(id="b")).finish()
    before = (folder / "manifest.json").read_bytes()
    run = start(folder, Start(id="c"))
    after = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").write_bytes(before)
    report = verify(folder)
    assert report.ok, report.words
    assert "is beginning, manifest.json does not name it yet" in report.words
    (folder / "manifest.json").write_bytes(after)
    assert "is beginning" not in verify(folder).words
    run.finish()
    before = (folder / "manifest.json").read_bytes()
    log = killed(folder)
    (folder / "manifest.json").write_bytes(before)
    report = verify(folder)
    assert report.exit_code == 1
    assert report.first_bad == (log.parents[1] / "owner.json").relative_to(folder).as_posix()
    assert "is of a writer that manifest.json does not name" in report.words


def test_a_record_killed_before_its_first_commit_is_whole_and_said_to_be_uncommitted(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0}, 0)
    (tmp_path / "r" / "manifest.json").unlink(missing_ok=True)
    report = verify(tmp_path / "r")
    assert report.ok, report.words
    assert "nothing of this record is committed" in report.words
    run.finish()


def test_a_manifest_that_is_gone_is_missed_where_a_segment_is_closed(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0}, 0)
    run.finish()
    (tmp_path / "r" / "manifest.json").unlink()
    assert verify(tmp_path / "r").first_bad == "manifest.json"


def test_a_published_folder_is_verified_by_the_record_in_it(tmp_path: Path) -> None:
    start(tmp_path / "site" / "record", Start(id="a")).finish()
    (tmp_path / "site" / "manifest.json").write_text("{}")
    assert verify(tmp_path / "site").ok


def test_a_writer_that_joined_an_open_attempt_and_was_killed_is_uncommitted(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    log = killed(folder)
    before = (folder / "manifest.json").read_bytes()
    joined = ended_writer(folder, "b", "w")
    joined.folder.rename(log.parents[2] / "w")
    owner = read_document(log.parents[2] / "w" / "owner.json")
    place = WriterPath(folder, "a", 1, "w")
    write_owner(place, {name: owner[name] for name in ("pid", "process_start", "place", "created_ns", "fanal")})
    shutil.copytree(log.parent, place.folder / "log")
    assert (folder / "manifest.json").read_bytes() == before
    report = verify(folder)
    assert report.ok, report.words
    assert f"{place.name}: is beginning, manifest.json does not name it yet: uncommitted" in report.words
    place.folder.rename(folder / "runs" / "b" / "1" / "w")
    assert verify(folder).exit_code == 1
