"""Artifacts are put together from files, folders, addresses and media, under names that stay inside."""

import os
from pathlib import Path

import pytest

import fanal


def test_a_file_that_is_gone_costs_the_artifact_that_file_only(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.txt", "two.txt"):
        Path(name).write_text(name)
    artifact = fanal.Artifact("pair", "dataset")
    artifact.add_file("one.txt")
    artifact.add_file("two.txt")
    os.unlink("one.txt")  # noqa: PTH108
    fanal.init(dir="r", id="a").log_artifact(artifact)
    assert [file["name"] for file in artifact.kept] == ["two.txt"]
    assert "one.txt cannot be read" in capsys.readouterr().err
    with pytest.raises(fanal.UsageError, match="is no file"):
        artifact.add_file("one.txt")
    with pytest.raises(fanal.UsageError, match="not logged yet"):
        fanal.Artifact("new", "dataset").download()
