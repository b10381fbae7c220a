"""The commands about records, one after the other as the guide has them, through the command line itself."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal import cli
from fanal.record.attempt import Start, start
from tests.worlds.site import file_server


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    for number, first in enumerate((0, 8)):
        run = start(tmp_path / "record", Start(id=f"part{number}", config={"lr": 0.1 + number}))
        for step in range(first, first + 10):
            run.log({"loss": step / 10 + number}, step)
        run.finish()
    return tmp_path / "record"


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON report of a command."""
    capsys.readouterr()
    code = cli.main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_record_is_signed_published_followed_verified_and_redacted(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, copy = tmp_path / "site", tmp_path / "copy"
    assert said(capsys, "key", "new")[0] == 0
    assert said(capsys, "key", "new", record)[0] == 0
    assert said(capsys, "publish", record, site, "--dry-run")[0] == 0
    assert not site.exists()
    assert said(capsys, "publish", record, site)[0] == 0
    with file_server(site) as address:
        assert said(capsys, "follow", address, copy, "--once")[0] == 0
        code, report = said(capsys, "verify", address)
        assert (code, report["path"]) == (0, address)
        assert report["words"].startswith(f"{address}: whole, signed by")
        root = json.loads((copy / "manifest.json").read_text("utf-8"))["tree"]
        code, _ = said(capsys, "verify", copy, "--since", f"{root['size']}:{root['root']}", "--deep")
        assert code == 0
        blob = fanal.open(record).runs["part0"].events("config")[0].fields["config"]["$blob"]
        assert said(capsys, "redact", record, blob, "--reason", "it names a person")[0] == 0
        assert said(capsys, "publish", record, site)[0] == 0
        assert said(capsys, "follow", address, copy, "--once")[0] == 0
    for folder in (record, site / "record", copy):
        assert not (folder / "blobs" / blob).exists()
        assert said(capsys, "verify", folder)[0] == 0


def test_runs_are_stitched_anchored_and_read_with_sql(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "stitch", record, "part0", "part1", "--as", "whole")[0] == 0
    assert fanal.open(record).runs["whole"].series("loss").steps.tolist() == list(range(18))
    for words in (["init", "-q"], ["config", "user.email", "a@example.org"], ["config", "user.name", "a"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    assert said(capsys, "anchor", record, "--git", tmp_path)[0] == 0
    assert said(capsys, "verify", record)[0] == 0
    assert "CREATE OR REPLACE VIEW points" in said(capsys, "sql", record)[1]["sql"]


def test_a_table_is_imported_and_a_wrong_kind_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.csv").write_text("step,loss\n0,1.5\n1,1.25\n")
    assert said(capsys, "import", "csv", tmp_path / "run.csv", "--into", tmp_path / "r")[0] == 0
    assert fanal.open(tmp_path / "r").runs["run"].series("loss").values.tolist() == [1.5, 1.25]
    assert cli.main(["import", "excel", str(tmp_path / "run.csv"), "--into", str(tmp_path / "r")]) == 2
    assert "excel" in capsys.readouterr().err


def test_an_id_that_cannot_be_is_bad_input_and_no_fault_of_ours(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["stitch", str(record), "part0", "part1", "--as", "../x"]) == 2
    words = capsys.readouterr().err
    assert "'../x'" in words
    assert "fault" not in words
