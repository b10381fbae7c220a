import time
from pathlib import Path

import pytest

from fanal.record import layout, manifest
from fanal.record.attempt import Start, start
from fanal.record.files import DamagedError
from fanal.record.layout import WriterPath
from fanal.record.manifest import MAX_BYTES, read_manifest
from fanal.record.owner import owner_fields
from fanal.record.verify import verify


def ended_writer(folder: Path, run: str, writer: str) -> WriterPath:
    """A writer that wrote nothing: an owner file alone."""
    place = WriterPath(folder, run, layout.begin_attempt(folder, run), writer)
    place.folder.mkdir()
    layout.write_owner(place, owner_fields(time.time_ns(), "test"))
    return place


def test_the_manifest_names_every_writer(tiny: Path) -> None:
    found = read_manifest(tiny)
    assert found is not None
    assert [(entry.run, entry.attempt, entry.segments, entry.open) for entry in found.entries] == [
        ("tiny", 1, 1, False),
        ("tiny", 2, 1, False),
    ]


def test_the_manifest_stays_small_however_many_writers(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(120):
        ended_writer(folder, f"run{number % 7}", f"w{number}")
        if number % 40 == 39:
            manifest.commit(folder)
            assert (folder / "manifest.json").stat().st_size <= MAX_BYTES
    found = read_manifest(folder)
    assert found is not None
    assert len({entry.key for entry in found.entries}) == len(found.entries) == 120
    assert found.pages
    report = verify(folder)
    assert report.ok, report.words
    assert report.counts["writers"] == 120


def test_pages_are_merged_before_their_list_grows_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_BYTES", 1500)
    monkeypatch.setattr(manifest, "MAX_PAGES", 3)
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(40):
        ended_writer(folder, "a", f"w{number}")
        manifest.commit(folder)
    found = read_manifest(folder)
    assert found is not None
    assert len(found.pages) <= 3
    assert len({entry.key for entry in found.entries}) == len(found.entries) == 40
    assert verify(folder).ok


def test_a_page_that_changed_or_is_missing_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(80):
        ended_writer(folder, "a", f"w{number}")
    manifest.commit(folder)
    (page,) = (folder / "blobs").iterdir()
    data = page.read_bytes()
    page.write_bytes(data.replace(b"w17", b"w71"))
    with pytest.raises(DamagedError, match="has changed"):
        read_manifest(folder)
    assert verify(folder).first_bad == f"blobs/{page.name}"
    page.unlink()
    with pytest.raises(DamagedError, match="is missing"):
        read_manifest(folder)


def test_a_damaged_manifest_is_put_aside_and_stays_bad_news(tmp_path: Path) -> None:
    start(tmp_path / "r", Start(id="a")).finish()
    path = tmp_path / "r" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"segments":1', b'"segments":2', 1))
    start(tmp_path / "r", Start(id="b")).finish()
    report = verify(tmp_path / "r")
    assert report.exit_code == 1
    assert report.first_bad is not None
    assert report.first_bad.startswith("manifest.json.damaged-")


def test_hashes_that_stood_in_the_manifest_are_not_taken_anew(tmp_path: Path) -> None:
    start(tmp_path / "r", Start(id="a")).finish()
    (owner,) = (tmp_path / "r").glob("runs/a/1/*/owner.json")
    owner.write_bytes(owner.read_bytes().replace(b'"pid":', b'"pid":1', 1))
    start(tmp_path / "r", Start(id="b")).finish()
    assert verify(tmp_path / "r").first_bad == owner.relative_to(tmp_path / "r").as_posix()


def test_writing_the_same_manifest_again_changes_no_byte(tiny: Path) -> None:
    before = (tiny / "manifest.json").read_bytes()
    manifest.commit(tiny)
    assert (tiny / "manifest.json").read_bytes() == before
