"""What a host may say of a record and a copy may not believe: names that lead elsewhere, and other histories."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanal.page.publish import publish
from fanal.record.attempt import Start, start
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.copies.history import (
    HistoryError,
    OlderError,
    hold_continuation,
    hold_segment,
    hold_slices,
    is_hash,
    last_sequences,
)
from fanal.record.files import seal, sha256
from fanal.record.proof.entries import Entry, TailSlice
from fanal.record.proof.manifest import Manifest, TreeHead
from fanal.record.proof.tree import leaf_hash
from tests.worlds.site import file_server

ENTRY = Entry("one", 1, "abc", "0" * 64, 2, "1" * 64, True)
SLICE = TailSlice("one", 1, "abc", 1, 0, 100, "2" * 64, 1, 9)
LEAVES = [leaf_hash(bytes([number])) for number in range(5)]


def manifest(entries: tuple[Entry, ...] = (ENTRY,), tails: tuple[TailSlice, ...] = (SLICE,)) -> Manifest:
    """A published manifest that names these."""
    tree = TreeHead(0, "", ())
    return Manifest("a" * 64, entries, (), frozenset(), (), tree, None, None, "b" * 64, tails, ())


def test_the_same_and_what_goes_on_from_it_are_taken() -> None:
    hold_slices(manifest())
    hold_continuation(manifest(), LEAVES[:2], manifest(), LEAVES[:2])
    more = replace(SLICE, log=1, offset=100, sha256="3" * 64, first_sequence=10, last_sequence=20)
    hold_continuation(manifest(), LEAVES[:2], manifest(tails=(SLICE, more)), LEAVES[:2])
    closed = replace(ENTRY, segments=3, last_sha256="4" * 64)
    hold_continuation(manifest(), LEAVES[:2], manifest((closed,), ()), LEAVES[:3])
    assert last_sequences((SLICE, more)) == {("one", 1, "abc"): 20}


@pytest.mark.parametrize(
    ("entry", "one"),
    [
        (ENTRY, replace(SLICE, writer="other")),
        (ENTRY, replace(SLICE, run="two")),
        (ENTRY, replace(SLICE, offset=-1)),
        (replace(ENTRY, withheld="private"), SLICE),
    ],
)
def test_a_slice_of_nobody_that_is_public_is_refused(entry: Entry, one: TailSlice) -> None:
    with pytest.raises(HistoryError, match="cannot be a slice of a log"):
        hold_slices(manifest((entry,), (one,)))


def segment(**changed: Any) -> dict[str, Any]:
    """A segment's manifest, as far as it is looked at here."""
    file = {"name": "2.values0.parquet", "sha256": "5" * 64}
    return {"run": "one", "attempt": 1, "writer": "abc", "number": 2, "files": [file]} | changed


def test_a_segment_names_its_own_files_and_no_others() -> None:
    hold_segment(segment(), ENTRY, 2)
    hold_segment(segment(files=[{"name": "2.names0.json.gz", "sha256": "5" * 64}]), ENTRY, 2)
    for name in ("../../x", "/etc/passwd", "2.json", "1.values0.parquet", "2.values0.parquet/x", ".tmp-x", ""):
        with pytest.raises(HistoryError, match="which cannot be a file of it"):
            hold_segment(segment(files=[{"name": name, "sha256": "5" * 64}]), ENTRY, 2)
    with pytest.raises(HistoryError, match="which cannot be a file of it"):
        hold_segment(segment(files=[{"name": "2.values0.parquet", "sha256": "../x"}]), ENTRY, 2)
    for changed in ({"run": "two"}, {"attempt": 2}, {"writer": "abd"}, {"number": 3}):
        with pytest.raises(HistoryError, match="is another segment's"):
            hold_segment(segment(**changed), ENTRY, 2)


def test_only_a_hash_is_a_blobs_name() -> None:
    assert is_hash("a" * 64)
    assert not any(map(is_hash, ("", "a" * 63, "A" * 64, "../" + "a" * 61, "a" * 64 + "\n")))


@pytest.mark.parametrize(
    ("new", "leaves", "words"),
    [
        (replace(manifest(), record_sha256="c" * 64), LEAVES[:2], "another record"),
        (manifest(), [LEAVES[0], LEAVES[2]], "the history forks"),
        (manifest(), [LEAVES[1]], "the history forks"),
        (manifest(()), LEAVES[:3], "is gone"),
        (manifest((replace(ENTRY, segments=1),)), LEAVES[:3], "has 1 of 2 segments"),
        (manifest((replace(ENTRY, owner_sha256="d" * 64),)), LEAVES[:2], "is another one"),
        (manifest((replace(ENTRY, last_sha256="d" * 64),)), LEAVES[:2], "is another one"),
        (manifest((replace(ENTRY, withheld="changed my mind"),)), LEAVES[:2], "was public and is withheld now"),
    ],
)
def test_another_history_is_refused(new: Manifest, leaves: list[bytes], words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        hold_continuation(manifest(), LEAVES[:2], new, leaves)


@pytest.mark.parametrize(
    ("new", "leaves"),
    [
        (manifest((replace(ENTRY, segments=1, last_sha256="6" * 64),)), LEAVES[:1]),
        (manifest(()), LEAVES[:2]),
        (manifest(tails=()), LEAVES[:2]),
        (manifest(tails=(replace(SLICE, last_sequence=8),)), LEAVES[:2]),
    ],
)
def test_an_earlier_state_is_known_as_one(new: Manifest, leaves: list[bytes]) -> None:
    with pytest.raises(OlderError):
        hold_continuation(manifest(), LEAVES[:2], new, leaves)


def test_a_host_cannot_make_a_copy_write_outside_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name that a manifest, a page or a segment may hold, replaced by one that leads out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    run = start(tmp_path / "record", Start(id="one"))
    run.log({"loss": 1.0}, 0)
    publish(tmp_path / "record", tmp_path / "site")
    run.finish()
    path = tmp_path / "site" / "record" / "manifest.json"
    honest = json.loads(path.read_bytes())
    honest.pop("self")
    owner = (tmp_path / "site" / "record" / f"runs/one/1/{honest['writers'][0]['writer']}/owner.json").read_bytes()
    evil = tmp_path / "site" / "evil"
    evil.write_bytes(owner)
    lies: list[dict[str, Any]] = [
        {"pages": ["../../evil"]},
        {"tail_pages": ["../../evil"]},
        {"tree": honest["tree"] | {"partial": "../../evil"}},
        {"writers": [honest["writers"][0] | {"run": "../../../evil", "owner_sha256": sha256(owner)}]},
        {"writers": [honest["writers"][0] | {"writer": "../../../evil"}]},
        {"tails": [honest["tails"][0] | {"sha256": "../../evil"}]},
        {"tails": [honest["tails"][0] | {"writer": "../../../../evil"}]},
        {"tails": [honest["tails"][0] | {"unknown": 1}]},
        {"writers": [{"run": "one"}]},
    ]
    before = {p for p in tmp_path.rglob("*") if "state" not in p.parts}
    with file_server(tmp_path / "site") as address:
        for number, lie in enumerate(lies):
            path.write_bytes(seal(honest | lie))
            report = follow(address, tmp_path / "copies" / str(number), FollowOptions(True, patience_seconds=0))
            assert report.exit_code == 1, lie
    outside = {p for p in tmp_path.rglob("*") if "state" not in p.parts and "copies" not in p.parts} - before
    assert not outside
