"""The text of a checkpoint and of the note around it, byte for byte."""

import base64
import hashlib

import pytest

from fanal.record.proof.checkpoint import Checkpoint, key_id, note_of, origin_of, read_note

ROOT = hashlib.sha256(b"root").digest()
CHECKPOINT = Checkpoint(origin_of("0123456789abcdef" * 4), 12, ROOT, "ab" * 32)
TEXT = (
    "fanal.dev/record/0123456789abcdef\n12\nSBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=\n"
    "manifest abababababababababababababababababababababababababababababababab\n"
)


def test_a_note_is_the_checkpoint_an_empty_line_and_the_signature_line() -> None:
    assert CHECKPOINT.text == TEXT
    note = note_of(CHECKPOINT, bytes(32), bytes(range(64)))
    head, _, line = note.rstrip("\n").rpartition("\n")
    assert head == TEXT
    dash, name, encoded = line.split(" ")
    assert (dash, name) == ("—", "fanal.dev/record/0123456789abcdef")
    expected_id = hashlib.sha256(b"fanal.dev/record/0123456789abcdef\n\x01" + bytes(32)).digest()[:4]
    assert base64.b64decode(encoded) == expected_id + bytes(range(64))
    assert note.endswith("\n")


def test_the_key_id_is_that_of_the_published_example() -> None:
    # golang.org/x/mod/sumdb/note: PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW
    data = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    assert key_id("PeterNeumann", data[1:]).hex() == "c74f20a3"


def test_a_note_is_read_back_and_a_checkpoint_without_signatures_too() -> None:
    note = read_note(note_of(CHECKPOINT, bytes(32), bytes(64)))
    assert note.checkpoint == CHECKPOINT
    assert note.text == TEXT
    (signature,) = note.signatures
    assert (signature.name, len(signature.key_id), len(signature.signature)) == (CHECKPOINT.origin, 4, 64)
    assert read_note(TEXT).signatures == ()


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("", "is no checkpoint"),
        (TEXT.replace("12", "012"), "is no checkpoint"),
        (TEXT.replace("manifest", "other"), "is no checkpoint"),
        (TEXT + "more\n", "is no checkpoint"),
        (TEXT.replace("SBNJ", "SBN!"), "must be base64"),
        (TEXT.replace("SBNJTRN+", ""), "must be a root of 32 bytes"),
        (TEXT + "\n- name AAAAAAA=\n", "is no signed note"),
        (TEXT + "\n— name AAAA\n", "is no signed note"),
        (TEXT + "\n— AAAAAAAAAA==\n", "is no signed note"),
        (TEXT + "\n— name ü\n", "must be base64"),
    ],
)
def test_what_is_no_note_is_said_in_what(note: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_note(note)


def test_no_word_of_what_is_no_note_is_said() -> None:
    for secret in ("MC4CAQAw", "not base64!"):
        for wrong in (TEXT.replace(TEXT.splitlines()[2], secret), f"{TEXT}\n{secret}\n", f"{TEXT}\n— name !{secret}\n"):
            with pytest.raises(ValueError, match=r"must be") as said:
                read_note(wrong)
            assert secret not in str(said.value)
