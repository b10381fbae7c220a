"""Artifacts have versions by name within a record and are found again by version and alias."""

from pathlib import Path

import pytest

import fanal
from tests.tracker.conftest import read


def test_artifacts_have_versions_by_name_and_are_found_by_alias() -> None:
    Path("data/inner").mkdir(parents=True)
    Path("data/a.txt").write_text("a")
    Path("data/inner/b.txt").write_text("bb")
    Path("outside.txt").write_text("not part of it")
    Path("data/link.txt").symlink_to(Path("outside.txt").absolute())
    run = fanal.init(dir="r", id="a")
    for loss in (0.5, 0.25):
        artifact = fanal.Artifact("letters", "dataset", "two letters", {"loss": loss})
        artifact.add_dir("data")
        with artifact.new_file("readme.txt") as file:
            file.write("made")
        artifact.add_reference("s3://bucket/large.bin")
        artifact.add(fanal.Table(columns=["x"], data=[[1]]), "table")
        run.log_artifact(artifact, aliases=["best"] if loss == 0.25 else None)
    assert (artifact.version, artifact.name, artifact.wait() is artifact) == ("v1", "letters:v1", True)
    fanal.finish()
    run = fanal.init(dir="r", id="b")
    found = run.use_artifact("team/proj/letters:best", type="dataset")
    assert (found.version, found.metadata, found.description) == ("v1", {"loss": 0.25}, "two letters")
    assert found.files() == ["a.txt", "inner/b.txt", "readme.txt", "large.bin", "table"]
    folder = Path(found.download("there"))
    assert {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()} == {
        "a.txt": "a",
        "inner/b.txt": "bb",
        "readme.txt": "made",
    }
    assert run.use_artifact("letters:v0").metadata == {"loss": 0.5}
    assert run.use_artifact("letters").version == "v1"
    with pytest.raises(fanal.UsageError, match=r"no lettres:v0; nearest: letters:v[01]"):
        run.use_artifact("lettres:v0")
    with pytest.raises(fanal.UsageError, match="is a 'dataset', not a 'model'"):
        run.use_artifact("letters", type="model")
    fanal.finish()
    assert [(e.fields["direction"], e.fields["version"]) for e in read("b").events("artifact")] == [
        ("used", 1),
        ("used", 0),
        ("used", 1),
    ]


def test_a_path_is_an_artifact_and_a_model_is_one_of_its_type() -> None:
    Path("weights.bin").write_bytes(b"\0" * 1000)
    run = fanal.init(dir="r", id="a")
    assert run.log_artifact("weights.bin", name="raw", type="file").size == 1000
    assert run.log_model("weights.bin", aliases="final").aliases == ["final", "latest"]
    with pytest.raises(fanal.UsageError, match="is not there"):
        run.log_artifact("none.bin")
    fanal.finish()
    assert [(e.fields["name"], e.fields["type"]) for e in read().events("artifact")] == [
        ("raw", "file"),
        ("run-a-model", "model"),
    ]
