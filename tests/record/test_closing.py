from pathlib import Path

import pytest

import fanal
from fanal.record import closing
from fanal.record.attempt import Start, start
from fanal.record.verify import verify


def test_a_closing_that_fails_loses_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(closing, "RUN_AS", ("-c", "import sys; sys.exit('no space for segments')"))
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.5}, 0)
    run.finish()
    assert "the log was kept but not closed: no space for segments" in capfd.readouterr().err
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5]
    assert verify(tmp_path / "r").ok
    monkeypatch.undo()
    again = start(tmp_path / "r", Start(id="a", from_step=1))
    assert not list((tmp_path / "r").glob("runs/a/1/*/log/*"))
    again.log({"x": 2.5}, 1)
    again.finish()
    assert fanal.open(tmp_path / "r").runs["a"].series("x").values.tolist() == [1.5, 2.5]


def test_the_closing_process_finds_fanal_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder was loaded')")
    monkeypatch.chdir(tmp_path)
    run = start(Path("r"), Start(id="a"))
    run.log({"x": 1.0})
    run.finish()
    assert not list((tmp_path / "r").rglob("*.log"))
