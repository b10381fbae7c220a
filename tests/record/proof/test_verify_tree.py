"""The tree's files against the record, where it takes more than one of them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fanal.record import layout
from fanal.record.files import canonical
from fanal.record.proof import manifest
from fanal.record.proof.keys import key_file, load
from fanal.record.proof.verify import verify
from tests.worlds.copies import published_copy
from tests.worlds.writers import closed, ended_writer

SEGMENTS = 300


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of two writers and 300 segments: a whole file of leaves and the beginning of the next."""
    folder = tmp_path_factory.mktemp("long") / "r"
    layout.open_record(folder)
    one, two = ended_writer(folder, "a", "w"), ended_writer(folder, "b", "w")
    for number in range(1, SEGMENTS):
        closed(one, number, final=number == SEGMENTS - 1)
    closed(two, 1, final=False)
    (two.folder / "log").mkdir()
    (two.folder / "log" / "1.log").touch()
    manifest.commit(folder)
    return folder


@pytest.fixture
def record(long: Path, tmp_path: Path) -> Path:
    shutil.copytree(long, tmp_path / "r")
    return tmp_path / "r"


@pytest.mark.parametrize("name", ["tree/0", "tree/partial"])
def test_the_file_of_the_tree_that_is_altered_is_named(record: Path, name: str) -> None:
    data = (record / name).read_bytes()
    for position in (0, 10, 90, len(data) // 2, len(data) - 2):
        changed = bytearray(data)
        changed[position] ^= 1
        (record / name).write_bytes(changed)
        report = verify(record)
        assert (report.exit_code, report.first_bad) == (1, name), (position, report.words)
    (record / name).unlink()
    assert verify(record).first_bad == name


def test_the_leaf_of_another_segment_is_named(record: Path) -> None:
    lines = (record / "tree/0").read_bytes().splitlines(keepends=True)
    lines[7], lines[8] = lines[8], lines[7]
    (record / "tree/0").write_bytes(b"".join(lines))
    report = verify(record)
    assert report.first_bad == "tree/0"
    assert "leaf 7 is of segment 9 of runs/a/1/w, which does not come here" in report.words


def test_what_a_commit_cut_off_left_behind_is_noted_and_no_damage(record: Path) -> None:
    shutil.copy(record / "tree/0", record / "tree/5")
    with (record / "tree/partial").open("ab") as file:
        file.write((record / "tree/0").read_bytes()[:100])
    report = verify(record)
    assert report.exit_code == 0
    assert "tree/5: of a commit that was interrupted; no part of the record yet" in report.words


def test_segments_after_the_manifest_are_said_to_be_uncommitted(record: Path) -> None:
    place = layout.WriterPath(record, "b", 1, "w")
    closed(place, 2)
    report = verify(record)
    assert (report.exit_code, report.size) == (0, SEGMENTS)
    assert "runs/b/1/w: 1 segments came after the manifest: uncommitted" in report.words


@pytest.mark.parametrize("changes", [{"leaf": "g" * 64}, {"leaf": 7}, {"writer": ["x"]}])
def test_a_withheld_leaf_that_is_no_hash_is_named_and_trips_nothing(
    copied: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    host = published_copy(copied, tmp_path / "host", load(key_file()).signer)
    known = manifest.read_manifest(host)
    assert known is not None
    assert known.tree is not None
    (withheld,) = (entry.name for entry in known.entries if entry.withheld)
    path = host / "blobs" / str(known.tree.partial)
    leaves = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(canonical(leaf | changes if leaf["writer"] == withheld else leaf) for leaf in leaves))
    report = verify(host)
    assert (report.exit_code, report.first_bad) == (1, f"blobs/{path.name}"), report.words
    assert "has changed since it was written" in report.words
