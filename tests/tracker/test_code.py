"""The code of an attempt: git's state, files and changes, without what is secret."""

import subprocess
import sys
from pathlib import Path

import pytest

import fanal
from fanal.record.blobs import read_blob
from fanal.tracker import code
from fanal.tracker.git import look
from tests.tracker.conftest import SECRET, read


def script(text: str) -> subprocess.CompletedProcess[str]:
    Path("run.py").write_text(text)
    return subprocess.run([sys.executable, "run.py"], capture_output=True, text=True, check=False)


def test_the_commit_is_always_recorded_and_files_only_when_asked_for(repository: Path) -> None:
    text = "import fanal\nfanal.init(dir='r', id='{}', settings={{'x_disable_meta': False}}{})\nfanal.finish()\n"
    assert script(text.format("a", "")).returncode == 0
    assert script(text.format("b", ", save_code=True")).returncode == 0
    (plain,), (saved,) = read("a").events("code"), read("b").events("code")
    assert (plain.fields["branch"], plain.fields["files"], plain.fields["changes"]) == ("trunk", [], None)
    assert [file["name"] for file in saved.fields["files"]] == ["run.py"]
    assert read_blob(repository / "r", saved.fields["files"][0]["blob"]) == Path("run.py").read_bytes()
    changes = read_blob(repository / "r", saved.fields["changes"]).decode()
    assert "+lr = 0.2" in changes
    assert SECRET not in changes
    assert read("b").attempts[0].code["commit"] == plain.fields["commit"]


def test_log_code_keeps_python_files_without_secrets_and_without_made_folders(repository: Path) -> None:
    (repository / "__pycache__").mkdir()
    (repository / "__pycache__" / "x.py").write_text("made")
    run = fanal.init(dir="r", id="a")
    run.log_code()
    run.log_code(include_fn=lambda path, root: path.endswith(".txt"))
    fanal.finish()
    first, second = read().events("code")
    files = {file["name"]: read_blob(Path("r"), file["blob"]).decode() for file in first.fields["files"]}
    assert list(files) == ["train.py"]
    assert "lr = 0.2" in files["train.py"]
    assert SECRET not in files["train.py"]
    assert "notes.txt" in [file["name"] for file in second.fields["files"]]


def test_too_many_and_too_large_files_are_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(code, "MAX_FILES", 2)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    (tmp_path / "a.py").write_text("x" * (1 << 20) + "y")
    fanal.init(dir="r", id="a").log_code()
    fanal.finish()
    assert [file["name"] for file in read().events("code")[0].fields["files"]] == ["b.py"]
    said = capsys.readouterr().err
    assert "of 3 files the first 2" in said
    assert "a.py is larger than 1 MiB" in said


def test_outside_of_a_repository_nothing_is_made_up(tmp_path: Path) -> None:
    assert look(tmp_path) is None
    assert script("import fanal\nfanal.init(dir='r', id='a', settings={'x_disable_meta': False})\n").returncode == 0
    assert read().events("code") == []
    assert len(read().events("environment")) == 1
