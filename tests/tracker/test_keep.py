"""Files and artifacts are kept by content or hash, under names that stay inside, and found again."""

import hashlib
from pathlib import Path

import pytest

import fanal
from fanal.record.blobs import read_blob
from fanal.tracker import keep
from fanal.tracker.keep import safe_name
from tests.tracker.conftest import read


def kept_files(run: str = "a") -> dict[str, bytes]:
    """By name, the last content that the record has."""
    return {e.fields["name"]: read_blob(Path("r"), e.fields["blob"]) for e in read(run).events("file")}


def test_saved_files_are_kept_as_they_are_and_again_where_they_change() -> None:
    Path("out").mkdir()
    Path("model.pt").write_bytes(bytes(range(256)))
    for i in range(2):
        Path(f"out/part-{i}.txt").write_text(f"part {i}")
    run = fanal.init(dir="r", id="a")
    assert run.save("model.pt") == ["model.pt"]
    assert run.save("out/*.txt", base_path="out", policy="now") == ["out/part-0.txt", "out/part-1.txt"]
    Path("late.txt").write_text("too early")
    run.save("late.txt", policy="end")
    assert run.save("none-*.txt") == []
    Path("model.pt").write_bytes(b"changed")
    Path("out/part-0.txt").write_text("changed")
    Path("late.txt").write_text("at the end")
    Path(run.dir, "notes.txt").write_text("the script's own")
    fanal.finish()
    assert kept_files() == {
        "model.pt": b"changed",
        "part-0.txt": b"part 0",
        "part-1.txt": b"part 1",
        "late.txt": b"at the end",
        "notes.txt": b"the script's own",
    }
    assert [e.fields["name"] for e in read().events("file")].count("model.pt") == 2
    with pytest.raises(fanal.UsageError, match="policy must be one of"):
        fanal.init(dir="r", id="b").save("model.pt", policy="sometimes")


def test_ignored_patterns_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_IGNORE_GLOBS", "*.ckpt, secret*")
    for name in ("a.ckpt", "secret.txt", "b.txt"):
        Path(name).write_text(name)
    fanal.init(dir="r", id="a").save("*.*")
    fanal.finish()
    assert list(kept_files()) == ["b.txt"]


def test_large_files_are_kept_by_hash_and_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keep, "MAX_BLOB_BYTES", 1 << 20)
    for name in ("one.bin", "two.bin"):
        Path(name).write_bytes(name.encode() * 200_000)
    fanal.init(dir="r", id="a").save("*.bin")
    fanal.finish()
    (first, _) = read().events("file")
    wanted = hashlib.sha256(b"one.bin" * 200_000).hexdigest()
    assert (first.fields["blob"], first.fields["sha256"], first.fields["bytes"]) == (None, wanted, 1_400_000)
    assert capsys.readouterr().err.count("larger than 1 MiB") == 1


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/../../x", "", ".", "C:/x", "..\\x", "a\0b"])
def test_names_that_lead_outside_are_refused(name: str) -> None:
    with pytest.raises(fanal.UsageError, match="leads outside"):
        safe_name(name)
    artifact = fanal.Artifact("x", "dataset")
    Path("file.txt").write_text("x")
    if name:
        with pytest.raises(fanal.UsageError, match="leads outside"):
            artifact.add_file("file.txt", name)


@pytest.mark.parametrize(("name", "wanted"), [("a/./b", "a/b"), ("a\\b", "a/b"), ("a#/%2e%2e/b", "a#/%2e%2e/b")])
def test_other_names_are_made_plain(name: str, wanted: str) -> None:
    assert safe_name(name) == wanted
