"""`fanal redact`: the bytes go and the hash stays, no guess tests true against it, and a kill leaves what is redone."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fanal.errors import RecordError, RefusedError
from fanal.record import layout
from fanal.record.blobs import read_blob
from fanal.record.layout import BLOBS
from fanal.record.proof import entries, manifest
from fanal.record.proof.entries import page_names
from fanal.record.proof.journal_facts import journal_facts, redactions
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.redact import redact, remove_redacted
from fanal.record.proof.verify import verify
from tests.worlds.kills import STOP_AT
from tests.worlds.signed import SECRET, blob_of
from tests.worlds.writers import ended_writer


def test_the_bytes_go_and_the_hash_and_the_reason_stay(copied: Path) -> None:
    blob = blob_of(copied)
    report = redact(copied, blob.name, "a person asked for it")
    assert (report.removed, report.was_redacted_before) == ((blob.name,), False)
    assert "publishers and followers of this record remove theirs" in report.words
    assert not any(SECRET.encode() in path.read_bytes() for path in copied.rglob("*") if path.is_file())
    assert blob.name.encode() in next(copied.glob("runs/a/1/*/seg/1.facts0.jsonl")).read_bytes()
    assert redactions(copied) == {blob.name: "a person asked for it"}
    with pytest.raises(RecordError, match="redacted: a person asked for it"):
        read_blob(copied, blob.name)
    checked = verify(copied)
    assert (checked.exit_code, checked.redacted) == (0, ((blob.name, "a person asked for it"),))


def test_another_blob_may_stand_in_its_place(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "instead").write_text("[a name]")
    report = redact(f"{copied.parent}/r", blob_of(copied).name[:12], "asked for", tmp_path / "instead")
    assert report.replacement is not None
    assert f"blob {report.replacement} stands in its place" in report.words
    (fact,) = journal_facts(copied, "redaction")
    assert fact.fields["replacement"]["$blob"] == report.replacement == report.to_json()["replacement"]
    assert read_blob(copied, report.replacement) == b"[a name]"
    assert verify(copied).exit_code == 0


def test_a_second_call_removes_what_came_back_and_says_the_first_reason(copied: Path) -> None:
    blob = blob_of(copied)
    kept = blob.read_bytes()
    redact(copied, blob.name, "first")
    blob.write_bytes(kept)
    assert "its bytes are still here: `fanal redact` removes them" in verify(copied).words
    report = redact(copied, blob.name, "second")
    assert (report.was_redacted_before, report.reason, report.removed) == (True, "first", (blob.name,))
    assert "was redacted before: first" in report.words
    assert len(journal_facts(copied, "redaction")) == 1
    assert remove_redacted(copied) == []


@pytest.mark.parametrize(
    ("blob", "reason", "replace", "words"),
    [
        ("0" * 64, "x", None, "one blob must begin with 0{64}, found none"),
        ("abc", "x", None, "'abc' names no blob: give its SHA-256, or the first 8 digits or more"),
        ("../../etc/passwd", "x", None, "names no blob"),
        (None, "  ", None, "a redaction needs a reason"),
        (None, "x", "absent", "absent is no file: --replace names"),
    ],
)
def test_bad_input_is_said_and_changes_nothing(
    copied: Path, blob: str | None, reason: str, replace: str | None, words: str
) -> None:
    before = sorted(path for path in copied.rglob("*"))
    with pytest.raises(RecordError, match=words):
        redact(copied, blob or blob_of(copied).name, reason, replace)
    assert sorted(path for path in copied.rglob("*")) == before
    (copied / BLOBS / ("ab" * 32)).touch()
    (copied / BLOBS / ("ab" * 31 + "cd")).touch()
    with pytest.raises(RecordError, match="one blob must begin with abababab, found 2"):
        redact(copied, "abababab", "x")


def test_a_page_of_the_manifest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_BYTES", 2000)
    folder = tmp_path / "r"
    layout.open_record(folder)
    for number in range(20):
        ended_writer(folder, "a", f"w{number}")
    manifest.commit(folder)
    known = read_manifest(folder)
    assert known is not None
    (page,) = page_names(folder, known.pages)
    with pytest.raises(RefusedError, match="is a page of the record's manifest"):
        redact(folder, page, "x")
    assert entries.read_page(folder, page)
    (folder / BLOBS / page).write_bytes(b"x")
    with pytest.raises(RecordError, match="has changed since it was written: run `fanal verify`"):
        redact(folder, page, "x")


def names_of_people() -> list[bytes]:
    """A dictionary of 10^6 guesses, the right one among them."""
    return [b"person %d" % number for number in range(999_999)] + [SECRET.encode()]


def test_a_dictionary_of_a_million_guesses_finds_nothing(copied: Path) -> None:
    blob = blob_of(copied)
    nonce = blob.read_bytes()[:16]
    redact(copied, blob.name, "asked for")
    wanted = bytes.fromhex(blob.name)
    bare, zeroed = hashlib.sha256(SECRET.encode()).digest(), hashlib.sha256(bytes(16) + SECRET.encode()).digest()
    found: set[str] = set()
    guesses = names_of_people()
    assert len(guesses) == 1_000_000
    for guess in guesses:
        plain, padded = hashlib.sha256(guess).digest(), hashlib.sha256(bytes(16) + guess).digest()
        if wanted in (plain, padded):
            found.add("the redacted hash")
        if plain == bare:
            found.add("a hash without random bytes")
        if padded == zeroed:
            found.add("a hash with known bytes")
    assert found == {"a hash without random bytes", "a hash with known bytes"}
    assert hashlib.sha256(nonce + SECRET.encode()).digest() == wanted, "with the random bytes it would have been found"
    assert not any(nonce in path.read_bytes() for path in copied.rglob("*") if path.is_file())


# Redacts a blob in copies of a record in forked children that stop at the k-th call.
KILL = (
    STOP_AT
    + """
import shutil
from pathlib import Path
from fanal.record.proof.redact import redact

folder = Path(sys.argv[1])

def remove(call):
    shutil.copytree(folder / "r", folder / f"r{call}")
    return lambda: redact(folder / f"r{call}", sys.argv[2], "asked for")

print(stop_at_each(remove))
"""
)


@pytest.mark.drill
def test_a_redaction_killed_at_any_call_leaves_a_whole_record_and_is_done_by_the_next(
    copied: Path, tmp_path: Path
) -> None:
    name = blob_of(copied).name
    code = [sys.executable, "-c", KILL, str(tmp_path), name]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    assert calls > 20
    bytes_left: list[bool] = []
    for call in range(1, calls + 1):
        folder = tmp_path / f"r{call}"
        report = verify(folder)
        assert report.exit_code == 0, (call, report.words)
        bytes_left.append((folder / BLOBS / name).exists())
        assert bytes_left[-1] or name in redactions(folder), call
        redact(folder, name, "asked for")
        report = verify(folder)
        assert (report.exit_code, report.redacted) == (0, ((name, "asked for"),)), (call, report.words)
        assert len(journal_facts(folder, "redaction")) == 1, call
        assert not (folder / BLOBS / name).exists()
        shutil.rmtree(folder)
    assert {True, False} == set(bytes_left)
