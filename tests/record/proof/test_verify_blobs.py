"""What is said of blobs: named, redacted, missing, altered, idle."""

from pathlib import Path

from fanal.record.files import sha256
from fanal.record.proof.verify_blobs import check_blobs, hash_of

A, B, C, D = (letter * 64 for letter in "abcd")


def test_each_blob_is_what_its_name_says_and_each_that_is_named_is_there() -> None:
    check = check_blobs({A: A, B: C}, {A, B, D}, set(), {})
    assert [(one.file, one.what) for one in check.bad] == [
        (f"blobs/{B}", "has changed since it was written"),
        (f"blobs/{D}", "is missing: an event names it, and none says it was redacted"),
    ]
    assert check.redacted == {}


def test_a_redaction_explains_what_is_gone_and_calls_for_what_is_not() -> None:
    check = check_blobs({A: A}, {A, B}, set(), {A: "why", B: "because", C: "never named"})
    assert check.bad == []
    assert check.redacted == {B: "because", C: "never named"}
    assert check.notes == [f"blobs/{A}: was redacted, and its bytes are still here: `fanal redact` removes them"]


def test_blobs_that_nothing_names_are_counted() -> None:
    assert check_blobs({A: A, B: B, C: C}, {A}, {B}, {}).notes == [
        "blobs: 1 blob that nothing names: pages of earlier manifests, or left by an interruption"
    ]
    assert "2 blobs that nothing names" in check_blobs({A: A, B: B}, (), set(), {}).notes[0]
    assert check_blobs({}, (), set(), {}).notes == []


def test_a_file_is_hashed_in_pieces_and_one_that_is_gone_has_no_hash(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    (tmp_path / "blob").write_bytes(data)
    assert hash_of(tmp_path / "blob") == sha256(data)
    assert hash_of(tmp_path / "gone") is None
