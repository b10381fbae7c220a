"""Each test has a working folder and variables of its own, and leaves no run open."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.record.blobs import read_blob
from fanal.record.reading.run_view import RunView

SECRET = "hf_" + "aB3dE6gH9j" * 3


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of a tracker from outside, no system metrics, no facts of the environment unless a test asks."""
    for name in list(os.environ):
        if name.startswith(("FANAL_", "WANDB_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FANAL_SYSTEM", "0")
    monkeypatch.setenv("FANAL_X_DISABLE_META", "true")
    monkeypatch.chdir(tmp_path)
    yield
    fanal.finish()


def read(run: str = "a", folder: str = "r") -> RunView:
    """A run as it is in the record."""
    return fanal.open(folder).runs[run]


def logged(value: Any) -> dict[str, Any]:
    """What the record has of a value."""
    fanal.init(dir="r", id="a")
    fanal.log({"m": value, "loss": 1.0})
    fanal.finish()
    assert read().exact("loss") == [1.0]
    (other,) = read().others()
    assert other.key == "m"
    return other.value


def blob(ref: dict[str, Any]) -> bytes:
    """What a reference names."""
    return read_blob(Path("r"), ref)


def git(*arguments: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A working tree with one commit, a remote with a token and a change."""
    (tmp_path / "train.py").write_text("import fanal\nlr = 0.1\n")
    (tmp_path / "notes.txt").write_text("words")
    git("init", "-b", "trunk")
    git("add", ".")
    git("commit", "-m", "first")
    git("remote", "add", "origin", f"https://user:{SECRET}@example.org/team/repo.git")
    (tmp_path / "train.py").write_text(f"import fanal\nlr = 0.2\ntoken = '{SECRET}'\n")
    return tmp_path
