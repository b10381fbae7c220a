"""`fanal verify` after each kind of damage, on records and on copies of them: the right word and the right code."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanal.record import frames
from fanal.record.attempt import Start, start
from fanal.record.files import canonical, read_document, seal, sha256
from fanal.record.layout import WriterPath, write_owner
from fanal.record.log import LogFile
from fanal.record.owner import owner_fields
from fanal.record.proof import keys, manifest
from fanal.record.proof.redact import redact
from fanal.record.proof.tree import Peaks, leaf_hash
from fanal.record.proof.verify import verify
from fanal.record.proof.verify_report import VerifyReport
from fanal.record.segments.close import close
from tests.worlds.proof_page import rows
from tests.worlds.signed import blob_of, log_of
from tests.worlds.writers import closed, ended_writer, forged_log


def alter(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def last_segment(record: Path) -> Path:
    return next(record.glob("runs/b/1/*/seg/1.json"))


def forge(record: Path, **changes: Any) -> None:
    """Write the manifest anew with other fields, as whoever has no key could."""
    fields = read_document(record / "manifest.json")
    (record / "manifest.json").write_bytes(seal(fields | changes))


def swap_leaves(record: Path) -> None:
    path = record / "tree" / "partial"
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([second, first, *rest]))


def forge_whole(record: Path) -> None:
    """Alter a segment and everything above it that needs no key."""
    path = last_segment(record)
    fields = read_document(path)
    (names,) = (file for file in fields["files"] if file["role"] == "facts")
    facts = path.parent / names["name"]
    facts.write_bytes(facts.read_bytes().replace(b"finished", b"finishes"))
    names["sha256"] = sha256(facts.read_bytes())
    path.write_bytes(seal(fields))
    known = read_document(record / "manifest.json")
    lines = [json.loads(line) for line in (record / "tree/partial").read_bytes().splitlines()]
    peaks = Peaks()
    for line in lines:
        if line["writer"].startswith("runs/b/"):
            line["leaf"] = leaf_hash(path.read_bytes()).hex()
        peaks.append(bytes.fromhex(line["leaf"]))
    for entry in known["writers"]:
        if entry["run"] == "b":
            entry["last_sha256"] = sha256(path.read_bytes())
    (record / "tree/partial").write_bytes(b"".join(canonical(line) for line in lines))
    tree = {"size": peaks.size, "root": peaks.root().hex(), "peaks": [peak.hex() for peak in peaks.hashes]}
    (record / "manifest.json").write_bytes(seal(known | {"tree": tree}))


def unsign(record: Path) -> None:
    forge(record, note=None, public_key=None)


def of_another_record(record: Path) -> None:
    other = start(record.parent / "other", Start(id="a"))
    other.finish()
    shutil.copy(record.parent / "other" / "record.json", record / "record.json")


def first(record: Path, pattern: str) -> Path:
    return next(record.glob(pattern))


ROWS = "runs/a/1/*/seg/1.rows0.parquet"
NO_ROOT = {"size": 1, "root": "0" * 64, "peaks": ["0" * 64]}
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda r: None, ""),
    "no key and no note": (unsign, ""),
    "a file altered": (lambda r: alter(first(r, ROWS)), "rows0"),
    "a file cut": (lambda r: first(r, ROWS).write_bytes(b"PAR1"), "rows0"),
    "a file gone": (lambda r: first(r, ROWS).unlink(), "rows0"),
    "a segment gone": (lambda r: last_segment(r).unlink(), "seg/1.json"),
    "an owner altered": (lambda r: alter(first(r, "runs/b/1/*/owner.json")), "owner.json"),
    "the header altered": (lambda r: alter(r / "record.json"), "record.json"),
    "another header": (of_another_record, "record.json"),
    "the manifest altered": (lambda r: alter(r / "manifest.json"), "manifest.json"),
    "the manifest gone": (lambda r: (r / "manifest.json").unlink(), "manifest.json"),
    "a leaf altered": (lambda r: alter(r / "tree/partial"), "tree/partial"),
    "the leaves gone": (lambda r: (r / "tree/partial").unlink(), "tree/partial"),
    "leaves exchanged": (swap_leaves, "tree/partial"),
    "another root": (lambda r: forge(r, tree=NO_ROOT), "tree/partial"),
    "no tree": (lambda r: forge(r, tree={}), "manifest.json"),
    "a blob altered": (lambda r: alter(blob_of(r)), "blobs/"),
    "a blob gone": (lambda r: blob_of(r).unlink(), "blobs/"),
    "a blob redacted": (lambda r: redact(r, blob_of(r).name, "asked for"), ""),
    "a log altered": (lambda r: flip_in_log(r), "log/1.log"),
    "a log gone": (lambda r: log_of(r).unlink(), "log/1.log"),
    "a log cut inside a frame": (lambda r: cut_log(r, 5), ""),
    "a stray file": (lambda r: (r / "runs/notes").write_text("x"), "notes"),
    "a stray blob": (lambda r: (r / "blobs" / sha256(b"x")).write_bytes(b"x"), ""),
    "the note altered": (lambda r: forge(r, note=note(r).replace("— ", "— x")), "manifest"),
    "no note any more": (lambda r: forge(r, note="x"), "manifest.json"),
    "a forged segment": (forge_whole, "manifest.json"),
    "a forged manifest": (lambda r: forge(r, counts={}), ""),
    "a log after the last segment": (lambda r: forged_log(ended(r), 1, 1 + last_sequence(r)), "log/1.log"),
    "a segment after the last": (lambda r: closed(ended(r), 2), "seg/2.json"),
    "a file after the last segment": (lambda r: (ended(r).folder / "seg/2.values0.parquet").touch(), "seg/2.values0"),
    "a log twice": (lambda r: shutil.copy(log_of(r), log_of(r).with_name("9.log")), "log/9.log"),
    "a log of a writer that had none": (lambda r: log_of_nobody(r), "log/1.log"),
    "a log that segments hold": (lambda r: leave_log(r), ""),
    "the withheld gone": (lambda r: withhold_here(r), "seg/1.json"),
}


def note(record: Path) -> str:
    return read_document(record / "manifest.json")["note"]


def flip_in_log(record: Path) -> None:
    data = bytearray(log_of(record).read_bytes())
    data[len(data.rstrip(b"\0")) // 2] ^= 1
    log_of(record).write_bytes(data)


def cut_log(record: Path, num: int) -> None:
    log_of(record).write_bytes(log_of(record).read_bytes().rstrip(b"\0")[:-num])


def ended(record: Path) -> WriterPath:
    """A writer whose last segment is final."""
    return WriterPath(record, "b", 1, last_segment(record).parents[1].name)


def last_sequence(record: Path) -> int:
    return read_document(last_segment(record))["last_sequence"]


def log_of_nobody(record: Path) -> None:
    """A log put beside the owner file of a writer that was killed before its log was made."""
    place = ended_writer(record, "none", "w")
    write_owner(place, owner_fields(0, "test") | {"process_start": "0"})
    keys.commit(record)
    assert verify(record).ok
    forged_log(place, 1, 1)


def leave_log(record: Path) -> None:
    """A closing killed between its last segment and the removal of the log."""
    log = log_of(record)
    data = log.read_bytes()
    close(WriterPath(record, "living", 1, log.parents[1].name), everything=True)
    log.write_bytes(data)


def withhold_here(record: Path) -> None:
    known = manifest.read_manifest(record)
    assert known is not None
    (withheld,) = (entry for entry in known.entries if entry.withheld)
    shutil.rmtree(record / withheld.name / "seg")


def holds(report: VerifyReport, code: int, words: list[str], file: str) -> None:
    assert report.exit_code == code, report.words
    assert any(some in report.words for some in words), report.words
    assert (report.first_bad is None) == (code != 1), report.words
    assert file in (report.first_bad or ""), report.words


def test_the_page_tells_of_each_kind_of_damage() -> None:
    assert set(rows(0)) == set(DAMAGE)


@pytest.mark.parametrize("name", DAMAGE)
def test_each_kind_of_damage_has_its_word_and_code(copied: Path, name: str) -> None:
    damage, file = DAMAGE[name]
    damage(copied)
    holds(verify(copied), *rows(0)[name], file)


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "files": lambda fields: fields.pop("files"),
    "last_sequence": lambda fields: fields.update(last_sequence="1"),
    "a file's name": lambda fields: fields["files"][0].update(name="../../../../../record.json"),
    "a file": lambda fields: fields["files"].append("x"),
    "groups": lambda fields: fields.pop("groups"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_segment_that_was_forged_to_trip_its_reader_is_bad_news_and_no_traceback(copied: Path, what: str) -> None:
    path = last_segment(copied)
    fields = read_document(path)
    HOSTILE[what](fields)
    path.write_bytes(seal(fields))
    shutil.rmtree(copied / "tree")
    (copied / "manifest.json").unlink()
    manifest.commit(copied)
    report = verify(copied)
    assert report.exit_code == 1, report.words
    assert "says what no segment of this version says" in report.words or "cannot be read" in report.words


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "../../../tmp"},
        {"writer": "../x"},
        {"attempt": -1},
        {"attempt": "1"},
        {"segments": None, "more": 1},
    ],
)
def test_a_manifest_whose_names_would_lead_elsewhere_is_refused(copied: Path, changes: dict[str, Any]) -> None:
    writers = read_document(copied / "manifest.json")["writers"]
    forge(copied, writers=[writers[0] | changes, *writers[1:]])
    holds(verify(copied), 1, ["says what no manifest of this version says"], "manifest.json")
    forge(copied, writers=writers, pages=["../record.json"])
    holds(verify(copied), 1, ["is no SHA-256"], "manifest.json")
    one = {"run": "a", "attempt": 1, "writer": "w", "log": 1, "offset": 0, "bytes": 1, "sha256": "../x"}
    forge(copied, pages=[], tails=[one | {"first_sequence": 1, "last_sequence": 1}])
    holds(verify(copied), 1, ["is no SHA-256"], "manifest.json")


def test_a_log_beside_an_owner_file_is_no_forgery_while_its_process_or_its_attempt_goes_on(copied: Path) -> None:
    place = ended_writer(copied, "none", "w")
    keys.commit(copied)
    forged_log(place, 1, 1)
    assert verify(copied).ok, "its process lives"
    write_owner(place, owner_fields(0, "test") | {"process_start": "0"})
    (copied / "manifest.json").unlink()
    (place.folder / "log" / "1.log").rename(copied.parent / "1.log")
    other = WriterPath(copied, "none", 1, "other")
    shutil.copytree(place.folder, other.folder)
    write_owner(other, owner_fields(0, "test") | {"process_start": "0"})
    forged_log(other, 1, 1)
    keys.commit(copied)
    shutil.copy(copied.parent / "1.log", place.folder / "log" / "1.log")
    report = verify(copied)
    assert report.ok, report.words


def test_a_gap_that_says_of_no_frames_trips_nothing(copied: Path) -> None:
    log = forged_log(ended_writer(copied, "none", "w"), 1, 1)
    log.unlink()
    file = LogFile(log, 1, 0)
    file.append(frames.pack_event("gap", None, 0, {}))
    file.close()
    keys.commit(copied)
    assert verify(copied).ok
