"""Published copies of a record, as a host has them and as a follower keeps them: whole, and after each damage."""

import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from fanal.record import frames
from fanal.record.attempt import Start, start
from fanal.record.files import read_document, seal
from fanal.record.layout import WriterPath
from fanal.record.log import FRAME, MAGIC, Frame, read_header, scan
from fanal.record.proof import keys
from fanal.record.proof.entries import TailSlice
from fanal.record.proof.keys import key_file, load
from fanal.record.proof.manifest import published, read_manifest
from fanal.record.proof.redact import redact
from fanal.record.proof.verify import verify
from fanal.record.proof.verify_report import VerifyReport
from fanal.record.segments.close import close
from tests.worlds.copies import followed, published_copy
from tests.worlds.proof_page import rows
from tests.worlds.signed import SECRET, WHY, blob_of, log_of
from tests.worlds.writers import forged_log


@pytest.fixture(params=["host", "follower"])
def copy(copied: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The public part of `signed_record`, signed by its key."""
    host = published_copy(copied, tmp_path / "host", load(key_file()).signer)
    return host if request.param == "host" else followed(host, tmp_path / "copy")


def test_a_copy_is_whole_and_lists_what_is_withheld_with_reasons(copy: Path, copied: Path) -> None:
    report = verify(copy)
    assert report.exit_code == 0, report.words
    assert f"whole, 1 withheld by declaration, signed by {load(key_file()).public_key}" in report.words
    known = read_manifest(copied)
    assert known is not None
    (withheld,) = (entry for entry in known.entries if entry.withheld)
    assert [(one.writer, one.reason) for one in report.withheld] == [(withheld.name, WHY)]
    assert f"{withheld.name}: withheld by declaration: {WHY}" in report.words
    assert [path.name for path in (copy / withheld.name).iterdir()] == ["owner.json"]
    assert report.size == verify(copied).size


def tail(copy: Path) -> Path:
    """A slice of the open log, or the log."""
    return min((copy / "tails").iterdir()) if (copy / "tails").exists() else log_of(copy)


def alter(path: Path, at: int = 200) -> None:
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes().rstrip(b"\0")[:-40])


def partial(copy: Path) -> Path:
    known = read_manifest(copy)
    assert known is not None
    assert known.tree is not None
    return copy / "blobs" / str(known.tree.partial)


def first(copy: Path, pattern: str) -> Path:
    return next(copy.glob(pattern))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a slice altered": lambda c: alter(tail(c)),
    "a slice gone": lambda c: tail(c).unlink(),
    "the end of a log cut": lambda c: cut(tail(c)),
    "a segment's file altered": lambda c: alter(first(c, "runs/a/1/*/seg/1.rows0.parquet")),
    "a segment gone": lambda c: first(c, "runs/b/1/*/seg/1.json").unlink(),
    "a blob gone": lambda c: blob_of(c).unlink(),
    "a blob altered": lambda c: alter(blob_of(c), 3),
    "the leaves gone": lambda c: partial(c).unlink(),
    "the leaves altered": lambda c: alter(partial(c)),
    "an owner file gone": lambda c: first(c, "runs/a/1/*/owner.json").unlink(),
    "a stray slice altered": lambda c: stray(c),
    "a frame after the last slice": lambda c: add_frame(c),
    "a log that no slice names": lambda c: forged_log(living(c), 9, 1000),
    "a log after the last segment": lambda c: forged_log(living(c, "b"), 1, 1000),
}


def living(copy: Path, run: str = "living") -> WriterPath:
    """A writer of the copy."""
    return WriterPath(copy, run, 1, first(copy, f"runs/{run}/1/*/owner.json").parent.name)


def add_frame(copy: Path) -> None:
    """Log one more event, in a log put together from its slices if it is not there."""
    log = living(copy).folder / "log" / "1.log"
    if not log.exists():
        log.parent.mkdir()
        slices = read_document(copy / "manifest.json")["tails"]
        log.write_bytes(b"".join((copy / "tails" / one["sha256"]).read_bytes() for one in slices))
    data = log.read_bytes()
    header = read_header(data)
    assert header is not None
    *_, last = scan(data, header)
    assert isinstance(last, Frame)
    payload = frames.pack_event("note", None, 0, {"text": "forged"})
    relative = last.sequence + 1 - header.first_sequence
    crc = zlib.crc32(payload, zlib.crc32(struct.pack("<III", header.salt, len(payload), relative)))
    log.write_bytes(data + FRAME.pack(MAGIC, len(payload), relative, crc) + payload)


def stray(copy: Path) -> None:
    (copy / "tails").mkdir(exist_ok=True)
    (copy / "tails" / ("0" * 64)).touch()


def test_the_page_tells_of_each_kind_of_damage() -> None:
    assert set(rows(1)) == set(DAMAGE)


@pytest.mark.parametrize("name", DAMAGE)
def test_each_kind_of_damage_to_a_copy_has_its_word_and_code(copy: Path, name: str) -> None:
    DAMAGE[name](copy)
    report, (code, words) = verify(copy), rows(1)[name]
    assert report.exit_code == code == 1, report.words
    assert any(some in report.words for some in words), report.words


def test_a_redaction_is_told_from_a_blob_that_is_missing(copied: Path, tmp_path: Path) -> None:
    blob = blob_of(copied)
    kept = blob.read_bytes()
    redact(copied, blob.name, "asked for")
    copy = published_copy(copied, tmp_path / "host", load(key_file()).signer)
    assert not any(SECRET.encode() in path.read_bytes() for path in copy.rglob("*") if path.is_file())
    report = verify(copy)
    assert (report.exit_code, report.redacted) == (0, ((blob.name, "asked for"),))
    assert "redacted: 1" in report.words
    (copy / "blobs" / blob.name).write_bytes(kept)
    report = verify(copy)
    assert report.exit_code == 0
    assert f"blobs/{blob.name}: was redacted, and its bytes are still here" in report.words


def test_a_log_that_its_segment_has_replaced_is_not_missed(copied: Path, tmp_path: Path) -> None:
    host = published_copy(copied, tmp_path / "host")
    named = read_document(host / "manifest.json")["tails"]
    start(copied, Start(id="living")).finish()
    keys.commit(copied)
    known = read_manifest(copied)
    assert known is not None
    later = published_copy(copied, tmp_path / "later")
    still = [TailSlice(**one) for one in named]
    (later / "manifest.json").write_bytes(published(copied, known, still).data)
    shutil.rmtree(later / "tails", ignore_errors=True)
    report = verify(later)
    assert report.exit_code == 0, report.words


def test_slices_that_leave_frames_out_are_missed(copied: Path, tmp_path: Path) -> None:
    host = published_copy(copied, tmp_path / "host")
    fields = read_document(host / "manifest.json")
    assert len(fields["tails"]) > 2
    gone = fields["tails"].pop(1)
    (host / "manifest.json").write_bytes(seal(fields))
    report = verify(host)
    assert report.exit_code == 1
    assert f"frames {gone['first_sequence']} to {gone['last_sequence']} are missing" in report.words


def test_a_copy_without_a_key_of_its_own_carries_the_records_note(copied: Path, tmp_path: Path) -> None:
    report: VerifyReport = verify(published_copy(copied, tmp_path / "host"))
    assert report.exit_code == 0
    assert f"up to segment {report.size} of {report.size}, what came after is not signed yet" in report.words


def test_a_log_that_segments_hold_may_be_left_in_a_copy(copied: Path, tmp_path: Path) -> None:
    log = log_of(copied)
    data = log.read_bytes()
    close(WriterPath(copied, "living", 1, log.parents[1].name), everything=True)
    copy = published_copy(copied, tmp_path / "host", load(key_file()).signer)
    (living(copy).folder / "log").mkdir()
    (living(copy).folder / "log" / "1.log").write_bytes(data)
    report = verify(copy)
    assert report.exit_code == 0, report.words
    assert "of a closing under way or interrupted; segments hold all of it" in report.words
