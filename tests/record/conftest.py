"""The record that many of these tests read; written once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanal.record.segments import closing
from tests.worlds.record import tiny_record
from tests.worlds.signed import signed_record


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tiny_record`; never changed."""
    return tiny_record(tmp_path_factory.mktemp("tiny") / "record")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder for keys and what is remembered, for this test alone and the processes that it begins."""
    closing.stop()
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    yield tmp_path / "config"
    closing.stop()


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `signed_record` as `r` and its key in `config`; never changed."""
    folder = tmp_path_factory.mktemp("signed")
    closing.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANAL_CONFIG", str(folder / "config"))
        signed_record(folder / "r")
        closing.stop()
    return folder


@pytest.fixture
def copied(signed: Path, tmp_path: Path, config: Path) -> Path:
    """A copy of that record to damage, its key at hand."""
    shutil.copytree(signed / "r", tmp_path / "r")
    config.mkdir()
    shutil.copy(signed / "config" / "key", config / "key")
    return tmp_path / "r"
