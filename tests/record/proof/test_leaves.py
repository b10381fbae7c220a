"""The files of the tree: whole ones that do not change, the rest, and what a crash in between leaves."""

import hashlib
from pathlib import Path

import pytest

from fanal.record.files import DamagedError, seal
from fanal.record.layout import WriterPath
from fanal.record.proof.leaves import (
    Leaf,
    last_leaves,
    leaf_of,
    lines_of,
    place_of,
    read_leaves,
    whole_leaves,
    write_leaves,
)

WRITER = "runs/a/1/w"


def some(num: int, first: int = 1) -> list[Leaf]:
    return [Leaf(hashlib.sha256(bytes([n % 251, n // 251])).hexdigest(), n, WRITER) for n in range(first, first + num)]


def test_leaves_written_in_any_portions_read_back_in_order(tmp_path: Path) -> None:
    wanted = some(700)
    at = 0
    for num in (1, 254, 1, 1, 3, 440):
        write_leaves(tmp_path, at, wanted[at : at + num])
        at += num
        assert read_leaves(tmp_path, at) == wanted[:at]
        assert last_leaves(tmp_path, at) == wanted[at - at % 256 : at]
    assert {path.name for path in (tmp_path / "tree").iterdir()} == {"0", "1", "partial"}
    assert (tmp_path / "tree" / "1").read_bytes() == lines_of(wanted[256:512])


def test_a_whole_file_leaves_no_partial_one(tmp_path: Path) -> None:
    write_leaves(tmp_path, 0, some(255))
    write_leaves(tmp_path, 255, some(1, 256))
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["0"]
    assert read_leaves(tmp_path, 256) == some(256)


def test_lines_of_a_commit_that_was_cut_off_mean_nothing(tmp_path: Path) -> None:
    write_leaves(tmp_path, 0, some(250))
    write_leaves(tmp_path, 250, some(10, 900))  # never counted by a manifest
    assert read_leaves(tmp_path, 250) == some(250)
    write_leaves(tmp_path, 250, some(20, 251))
    assert read_leaves(tmp_path, 270) == some(270)


@pytest.mark.parametrize("change", [b'"segment":2', b"\n", b"}"])
def test_a_changed_line_is_named_by_its_file(tmp_path: Path, change: bytes) -> None:
    write_leaves(tmp_path, 0, some(3))
    path = tmp_path / "tree" / "partial"
    path.write_bytes(path.read_bytes().replace(change, b" " + change, 1))
    with pytest.raises(DamagedError, match="has changed since it was written") as caught:
        read_leaves(tmp_path, 3)
    assert caught.value.path == path
    path.unlink()
    with pytest.raises(DamagedError, match="partial is missing"):
        read_leaves(tmp_path, 3)


def test_the_last_lines_of_a_published_copy_are_a_blob(tmp_path: Path) -> None:
    write_leaves(tmp_path, 0, some(256))
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "b").write_bytes(lines_of(some(4, 257)))
    assert read_leaves(tmp_path, 260, "b") == some(260)
    with pytest.raises(DamagedError, match="c is missing"):
        read_leaves(tmp_path, 260, "c")


def segment(place: WriterPath, number: int) -> Leaf:
    (place.folder / "seg").mkdir(parents=True, exist_ok=True)
    (place.folder / "seg" / f"{number}.json").write_bytes(seal({"number": number}))
    found = leaf_of(place, number)
    assert found is not None
    return found


def test_an_order_whose_manifest_is_lost_is_kept_as_far_as_it_is_that_of_the_segments(tmp_path: Path) -> None:
    one, two = WriterPath(tmp_path, "a", 1, "w"), WriterPath(tmp_path, "b", 2, "v")
    order = [segment(two, 1), segment(one, 1), segment(two, 2), segment(one, 2)]
    write_leaves(tmp_path, 0, order)
    assert whole_leaves(tmp_path) == order
    (two.folder / "seg" / "2.json").write_bytes(b"{}")
    assert leaf_of(two, 2) is None
    assert leaf_of(two, 3) is None
    assert whole_leaves(tmp_path) == order[:2]
    write_leaves(tmp_path, 2, [order[3], order[3]])
    assert whole_leaves(tmp_path) == [*order[:2], order[3]]


@pytest.mark.parametrize("name", ["runs/a/1", "runs/.a/1/w", "runs/a/x/w", "other/a/1/w", "runs/a/1/w/seg"])
def test_what_is_no_writers_folder_names_none(tmp_path: Path, name: str) -> None:
    assert place_of(tmp_path, name) is None
    assert place_of(tmp_path, WRITER) == WriterPath(tmp_path, "a", 1, "w")
