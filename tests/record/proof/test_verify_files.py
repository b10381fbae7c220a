"""Which files belong to a record, and what is said of the others."""

from pathlib import Path

from fanal.record import layout
from fanal.record.files import sha256
from fanal.record.proof import manifest
from fanal.record.proof.verify_files import all_files, blob_names, strangers
from fanal.record.proof.verify_writer import WriterCheck
from tests.worlds.writers import ended_writer


def test_every_file_and_every_link_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").touch()
    (tmp_path / "a" / "folder").symlink_to("/etc")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert sorted(all_files(tmp_path)) == ["a/b/c", "a/folder", "dangling"]


def test_what_does_not_belong_is_told_from_what_a_crash_left(tmp_path: Path) -> None:
    place = layout.WriterPath(tmp_path, "a", 1, "w")
    names = {
        "x": "is no part of the record",
        f"{place.name}/seg/3.values0.parquet": "is no part of the record",
        "blobs/readme": "is no part of the record",
        f"tails/{'0' * 64}": "has changed since it was published",
        "link": "is a link, and no part of the record",
    }
    left = [
        f"{place.name}/seg/2.values0.parquet",
        ".tmp-1",
        ".tmp-lock-commit/0-1-2-a",
        "tree/7",
        f"tails/{sha256(b'')}",
    ]
    for name in (*names, *left):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name == "link":
            (tmp_path / name).symlink_to("x")
        else:
            (tmp_path / name).touch()
    check = WriterCheck(place)
    check.segments = 1
    bad, notes = strangers(tmp_path, [*names, *left, "gone"], [check])
    assert {finding.file: finding.what for finding in bad} == names
    assert [note.partition(":")[0] for note in notes] == left[:4]
    check.ended = True
    bad, notes = strangers(tmp_path, left, [check])
    assert [finding.file for finding in bad] == left[:1]


def test_the_blobs_that_a_manifest_names_are_its_pages(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    assert blob_names(folder, None) == set()
    for number in range(60):
        ended_writer(folder, "a", f"w{number}")
    manifest.commit(folder)
    known = manifest.read_manifest(folder)
    assert known is not None
    assert blob_names(folder, known) == set(known.pages) == {path.name for path in (folder / "blobs").iterdir()}
