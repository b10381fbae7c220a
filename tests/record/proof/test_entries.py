"""The manifest's lists and their pages, and published manifests: never above 10 KB, whatever they name."""

import time
from pathlib import Path

import pytest

from fanal.record import layout
from fanal.record.files import DamagedError, sha256
from fanal.record.layout import WriterPath
from fanal.record.owner import owner_fields
from fanal.record.proof import manifest
from fanal.record.proof.entries import MAX_PAGES, Entry, Page, TailSlice, add_page, page_names, read_pages, tail_pages
from fanal.record.proof.manifest import MAX_BYTES, manifest_of, published, read_manifest
from fanal.record.proof.signing import is_signed_by, new_key, read_key
from tests.worlds.writers import closed

LONG = "r" * 80


def entry(number: int, segments: int = 0) -> Entry:
    return Entry("run", 1, f"w{number}", "0" * 64, segments, None, False)


def store(record: Path, blobs: dict[str, bytes]) -> None:
    (record / "blobs").mkdir(exist_ok=True)
    for name, data in blobs.items():
        assert sha256(data) == name
        (record / "blobs" / name).write_bytes(data)


def test_pages_grow_as_a_logarithm_and_lose_no_entry(tmp_path: Path) -> None:
    names: list[str] = []
    written = 0
    for number in range(0, 1000, 10):
        pages = list(read_pages(tmp_path, names))
        names, blobs = add_page(names, pages, [entry(n) for n in range(number, number + 10)])
        store(tmp_path, blobs)
        written += len(blobs)
        assert len(names) <= 8
    found = [one.writer for page in read_pages(tmp_path, names) for one in page.entries]
    assert sorted(found) == sorted(f"w{n}" for n in range(1000))
    assert written == 100


def test_a_later_page_counts_before_an_earlier_one(tmp_path: Path) -> None:
    names, blobs = add_page([], [], [entry(n) for n in range(30)])
    store(tmp_path, blobs)
    names, blobs = add_page(names, list(read_pages(tmp_path, names)), [entry(3, segments=5)])
    store(tmp_path, blobs)
    pages = list(read_pages(tmp_path, names))
    merged = {one.key: one for page in pages for one in page.entries}
    assert (len(pages), len(merged), merged["run", 1, "w3"].segments) == (2, 30, 5)


def test_pages_of_pages_are_read_through_and_left_alone(tmp_path: Path) -> None:
    pages = [Page(f"{n:064x}", (entry(n),), False) for n in range(MAX_PAGES)]
    names, blobs = add_page([page.name for page in pages], [Page(p.name, p.entries, True) for p in pages], [entry(99)])
    assert len(names) == MAX_PAGES + 1 - 32 + 1
    assert len(blobs) == 2
    store(tmp_path, blobs)
    with pytest.raises(DamagedError, match=r"is missing: manifest\.json names it"):
        list(page_names(tmp_path, names))


def slices(num: int) -> list[TailSlice]:
    return [TailSlice(LONG, 1, "w" * 12, 1, 100 * n, 100, sha256(b"%d" % n), n + 1, n + 1) for n in range(num)]


def test_pages_of_slices_stay_what_they_are_as_the_list_grows() -> None:
    few, _ = tail_pages(slices(1000))
    more, blobs = tail_pages(slices(1500))
    assert more[:3] == few[:3]
    assert len(more) == 6
    assert len(blobs) == 6
    assert len(tail_pages(slices(30_000))[0]) <= MAX_PAGES


@pytest.mark.parametrize(("writers", "num_slices"), [(0, 0), (3, 20), (25, 3), (200, 20_000)])
def test_a_published_manifest_is_never_above_ten_kilobytes(tmp_path: Path, writers: int, num_slices: int) -> None:
    folder, key = tmp_path / "r", new_key()
    layout.open_record(folder)
    for number in range(writers):
        place = WriterPath(folder, f"{number:03d}{LONG[3:]}", 1, f"{number:012x}")
        (place.folder / "log").mkdir(parents=True)
        (place.folder / "log" / "1.log").touch()
        layout.write_owner(place, owner_fields(time.time_ns(), "test") | {"withheld": "names people" * 3})
        closed(place, 1)
    manifest.commit(folder, signer=key.signer)
    assert (folder / "manifest.json").stat().st_size <= MAX_BYTES
    known = read_manifest(folder)
    assert known is not None
    assert known.is_signed
    assert all(one.open for one in known.entries)
    made = published(folder, known, slices(num_slices), read_key(key.pem).signer)
    assert len(made.data) <= MAX_BYTES
    store(folder, made.blobs)
    copy = manifest_of(folder, made.data)
    assert copy.is_signed
    assert copy.entries == known.entries
    assert copy.tails == tuple(slices(num_slices))
    assert copy.tree is not None
    assert (copy.tree.size, copy.tree.partial is None) == (writers, writers == 0)
    assert is_signed_by(manifest.read_note(copy.note or ""), key.public_key)


def test_the_manifest_of_many_open_writers_is_small_and_commits_cost_no_page_each(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(120):
        place = WriterPath(folder, f"run{number}", 1, "w")
        (place.folder / "log").mkdir(parents=True)
        (place.folder / "log" / "1.log").touch()
        layout.write_owner(place, owner_fields(time.time_ns(), "test"))
        manifest.commit(folder, [place])
        assert (folder / "manifest.json").stat().st_size <= MAX_BYTES
    known = read_manifest(folder)
    assert known is not None
    assert len(known.entries) == 120
    assert len(list((folder / "blobs").iterdir())) <= 15


def test_a_record_of_an_earlier_version_is_committed_before_it_is_published(tiny: Path, tmp_path: Path) -> None:
    layout.open_record(tmp_path / "r")
    manifest.commit(tmp_path / "r")
    known = read_manifest(tmp_path / "r")
    assert known is not None
    old = manifest.replace(known, tree=None)
    with pytest.raises(ValueError, match="has no tree yet: commit the record before it is published"):
        published(tmp_path / "r", old, [])


@pytest.mark.parametrize("data", [b"{}\n", b"x", b'{"self":"0"}\n'])
def test_what_is_no_manifest_is_said(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DamagedError, match=r"manifest\.json (is not JSON any more|has changed)"):
        manifest_of(tmp_path, data)
