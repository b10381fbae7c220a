"""Each test has a working folder and variables of its own, and leaves no run open."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.record.blobs import read_blob
from fanal.record.reading.run_view import RunView


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
