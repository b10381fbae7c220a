import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fanal.record import layout
from fanal.record.attempt import Start, start
from fanal.record.files import DamagedError, read_document, seal
from fanal.record.layout import WriterPath
from fanal.record.owner import owner_fields
from fanal.record.proof import entries, manifest, tree
from fanal.record.proof.leaves import read_leaves
from fanal.record.proof.manifest import MAX_BYTES, TreeHead, read_manifest
from fanal.record.proof.verify import verify
from tests.worlds.kills import STOP_AT
from tests.worlds.writers import closed, ended_writer


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


def test_pages_are_merged_and_their_list_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_BYTES", 2400)
    monkeypatch.setattr(entries, "MAX_PAGES", 3)
    monkeypatch.setattr(entries, "INDEX_PAGES", 2)
    monkeypatch.setattr(entries, "PAGE_ENTRIES", 4)
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(40):
        manifest.commit(folder, [ended_writer(folder, "a", f"w{number}")])
        found = read_manifest(folder)
        assert found is not None
        assert len(found.pages) <= 3
        assert len({entry.key for entry in found.entries}) == len(found.entries) == number + 1
        assert (folder / "manifest.json").stat().st_size <= 2400
    report = verify(folder)
    assert report.ok, report.words
    assert report.counts["writers"] == 40


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


def test_leaves_stand_in_the_order_of_their_commits_and_earlier_roots_stay_beginnings(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    places = [ended_writer(folder, "a", "w"), ended_writer(folder, "b", "v")]
    order, seen = [(1, 1), (0, 1), (0, 2), (1, 2), (1, 3)], list[TreeHead]()
    for index, number in order:
        closed(places[index], number)
        manifest.commit(folder, [places[index]])
        found = read_manifest(folder)
        assert found is not None
        assert found.tree is not None
        seen.append(found.tree)
    leaves = read_leaves(folder, 5)
    assert [(leaf.writer, leaf.segment) for leaf in leaves] == [(places[i].name, n) for i, n in order]
    hashes = [bytes.fromhex(leaf.leaf) for leaf in leaves]
    assert [(head.size, head.root) for head in seen] == [(n + 1, tree.root(hashes[: n + 1]).hex()) for n in range(5)]
    (folder / "manifest.json").unlink()
    manifest.commit(folder)
    assert read_leaves(folder, 5) == leaves


def test_a_commit_with_a_hint_looks_at_that_writer_and_at_those_that_were_open(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    places = [ended_writer(folder, run, "w") for run in "abc"]
    (places[1].folder / "log").mkdir()
    (places[1].folder / "log" / "1.log").touch()
    manifest.commit(folder)
    (places[1].folder / "log" / "1.log").unlink()
    for place in places:
        closed(place, 1)
    manifest.commit(folder, [places[2]])
    found = read_manifest(folder)
    assert found is not None
    assert [(entry.run, entry.segments) for entry in found.entries] == [("a", 0), ("b", 1), ("c", 1)]
    manifest.commit(folder)
    found = read_manifest(folder)
    assert found is not None
    assert [entry.segments for entry in found.entries] == [1, 1, 1]
    assert verify(folder).ok


def test_a_segment_that_is_damaged_or_missing_enters_no_tree(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    place = ended_writer(folder, "a", "w")
    for number in (1, 2, 3):
        closed(place, number)
    second = place.folder / "seg" / "2.json"
    whole = second.read_bytes()
    second.write_bytes(whole.replace(b'"final":true', b'"final":null'))
    manifest.commit(folder, [place])
    found = read_manifest(folder)
    assert found is not None
    assert found.tree is not None
    assert found.tree.size == found.entries[0].segments == 1
    assert verify(folder).first_bad == second.relative_to(folder).as_posix()
    second.write_bytes(whole)
    manifest.commit(folder, [place])
    assert verify(folder).size == 3


def test_a_record_of_a_version_without_a_tree_gets_one_of_all_it_holds(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    shutil.copytree(tiny, folder)
    shutil.rmtree(folder / "tree")
    fields = read_document(folder / "manifest.json")
    for name in ("tree", "note", "public_key"):
        del fields[name]
    (folder / "manifest.json").write_bytes(seal(fields))
    report = verify(folder)
    assert "whole, unsigned" in report.words
    assert report.size is None
    manifest.commit(folder, [])
    assert verify(folder).size == 2
    (folder / "manifest.json").write_bytes(seal(fields))
    shutil.rmtree(folder / "tree")
    gone = next(folder.glob("runs/tiny/1/*/seg/1.json"))
    gone.unlink()
    manifest.commit(folder)
    report = verify(folder)
    assert (report.size, report.first_bad) == (None, gone.relative_to(folder).as_posix())


def test_why_a_writer_is_withheld_stands_in_its_entry(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    place = WriterPath(folder, "a", layout.begin_attempt(folder, "a"), "w")
    place.folder.mkdir()
    layout.write_owner(place, owner_fields(0, "test") | {"withheld": "names people"})
    manifest.commit(folder, [place])
    found = read_manifest(folder)
    assert found is not None
    assert found.entries[0].withheld == "names people"


# Commits a copy of a record in forked children that stop at the k-th call.
KILL = (
    STOP_AT
    + """
import shutil
from pathlib import Path
from fanal.record.proof import entries, manifest
from fanal.record.layout import all_writers

folder = Path(sys.argv[1])
manifest.MAX_BYTES = 1500

def commit(call):
    shutil.copytree(folder / "r", folder / f"r{call}")
    return lambda: manifest.commit(folder / f"r{call}")

print(stop_at_each(commit))
"""
)


@pytest.mark.drill
def test_a_commit_killed_at_any_call_leaves_a_record_that_verifies_and_that_the_next_commits(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    places = [ended_writer(folder, "a", f"w{number}") for number in range(8)]
    for number in range(1, 32):
        closed(places[0], number, final=number == 31)
    manifest.commit(folder)  # 31 leaves; the next commit fills a whole file of the tree and begins the one after
    for place in places[1:]:
        for number in range(1, 36):
            closed(place, number, final=number == 35)
    done = subprocess.run([sys.executable, "-c", KILL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    assert calls > 15
    for call in range(1, calls + 1):
        copy = tmp_path / f"r{call}"
        report = verify(copy)
        assert report.ok, (call, report.words)
        first = read_leaves(copy, 31)
        manifest.commit(copy)
        report = verify(copy)
        assert (report.ok, report.size) == (True, 31 + 7 * 35), (call, report.words)
        assert read_leaves(copy, 31) == first
        assert not list(copy.glob(".tmp-lock*"))


def test_processes_that_commit_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    layout.open_record(folder)
    code = """
import sys
from pathlib import Path
from fanal.record.proof import manifest
from fanal.record.layout import WriterPath
from tests.worlds.writers import closed, ended_writer
folder = Path(sys.argv[1])
place = ended_writer(folder, sys.argv[2], "w")
for number in range(1, 11):
    closed(place, number, final=number == 10)
    manifest.commit(folder, [place])
"""
    others = [subprocess.Popen([sys.executable, "-c", code, str(folder), f"r{n}"]) for n in range(6)]
    assert [other.wait() for other in others] == [0] * 6
    report = verify(folder)
    assert (report.exit_code, report.size) == (0, 60), report.words
    assert "uncommitted" not in report.words
