"""A forecast, and the roots elsewhere that show that it was there by then."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.record.attempt import Start, start
from fanal.record.proof.anchor import anchor
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.sealed import Witness, check_forecasts
from fanal.record.proof.verify import verify

DOCUMENT = {"quantiles": {"p50": 3.25}, "fingerprint": "0" * 64}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    subprocess.run(["git", "init", "-q", tmp_path / "anchors"], check=True)
    return tmp_path / "anchors"


def sealed_record(record: Path) -> Path:
    """A hero that began with its forecast alone, and has no row yet."""
    start(record, Start(id="rung")).finish()
    run = start(record, Start(id="hero", role="hero"))
    run.event("forecast", sha256=sha256_hex(canonical_json(DOCUMENT)), document=DOCUMENT)
    run.finish("interrupted")
    return record


def test_the_smallest_root_that_covers_a_forecast_is_said(tmp_path: Path, repository: Path) -> None:
    record = sealed_record(tmp_path / "r")
    assert check_forecasts(record)[0].witness is None
    assert "covers it" not in verify(record).words
    report = anchor(record, repository)
    run = start(record, Start(id="hero"))
    run.log({"x": 1.0}, 0)
    run.finish()
    anchor(record, repository)
    (found,) = verify(record).forecasts
    assert found.sealed_before_step_0
    assert found.witness == Witness(report.size, report.root, f"git commit {report.commit}")
    said = f"sealed before step 0; the root of {report.size} segments (git commit {report.commit}) covers it"
    assert said in verify(record).words
    assert verify(record).to_json()["forecasts"][0]["witness"]["size"] == report.size


def test_a_root_seen_earlier_covers_what_was_there_by_then_and_nothing_later(tmp_path: Path) -> None:
    record = sealed_record(tmp_path / "r")
    known = read_manifest(record)
    assert known is not None
    assert known.note is None
    assert known.tree is not None
    before_hero = known.tree.peaks[0] if known.tree.size == 2 else ""
    assert before_hero
    (found,) = verify(record, since=known.tree.root).forecasts
    assert found.witness == Witness(2, known.tree.root, "seen earlier")
    shutil.rmtree(record)
    start(record, Start(id="rung")).finish()
    first = read_manifest(record)
    assert first is not None
    assert first.tree is not None
    run = start(record, Start(id="hero", role="hero"))
    run.event("forecast", sha256=sha256_hex(canonical_json(DOCUMENT)), document=DOCUMENT)
    run.finish()
    (found,) = verify(record, since=first.tree.root).forecasts
    assert found.witness is None


def test_a_forecast_in_an_open_log_is_in_no_root_yet(tmp_path: Path, repository: Path) -> None:
    record = tmp_path / "r"
    start(record, Start(id="rung")).finish()
    run = start(record, Start(id="hero", role="hero"))
    run.event("forecast", sha256=sha256_hex(canonical_json(DOCUMENT)), document=DOCUMENT)
    anchor(record, repository)
    (found,) = verify(record).forecasts
    assert (found.sealed_before_step_0, found.witness) == (True, None)
    run.finish()


def test_a_witness_holds_a_record_to_its_beginning() -> None:
    leaves = [bytes([n]) * 32 for n in range(3)]
    one = Witness(1, leaves[0].hex(), "git commit abc")
    assert one.wrong(leaves) is None
    assert one.wrong(leaves[1:]) == "is another history than its root anchored in git commit abc"
    assert one.wrong([]) == "is shorter than its root anchored in git commit abc: 1 segments then, 0 now"
