"""Keys and signatures, held against openssl and the published vectors of Ed25519."""

import base64
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from fanal.record.proof.checkpoint import Checkpoint, read_note
from fanal.record.proof.signing import (
    SigningKey,
    is_rotation,
    is_signed_by,
    new_key,
    public_key_of,
    read_key,
    rotation_text,
    verifier_key,
)

# RFC 8032, 7.1, test 1: secret key, public key, signature over nothing.
SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
SIGNED = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246"
    "55141438e7a100b"
)
CHECKPOINT = Checkpoint("fanal.dev/record/0123456789abcdef", 3, bytes(32), "cd" * 32)


def test_signatures_are_those_of_the_published_vector() -> None:
    key = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SECRET)))
    assert base64.b64decode(key.public_key).hex() == PUBLIC
    assert base64.b64decode(key.sign(b"")).hex() == SIGNED


def test_a_note_is_signed_by_its_key_and_by_no_other() -> None:
    key, other = new_key(), new_key()
    note = read_note(key.signer.sign(CHECKPOINT))
    assert key.signer.public_key == key.public_key
    assert is_signed_by(note, key.public_key)
    assert not is_signed_by(note, other.public_key)
    assert not is_signed_by(note, "no key")
    assert not is_signed_by(read_note(CHECKPOINT.text), key.public_key)


@pytest.mark.parametrize(("old", "new"), [("\n3\n", "\n4\n"), ("cd", "ce"), ("abcdef\n3", "abcdee\n3")])
def test_a_changed_note_is_signed_by_nobody(old: str, new: str) -> None:
    key = new_key()
    assert not is_signed_by(read_note(key.signer.sign(CHECKPOINT).replace(old, new, 1)), key.public_key)


def test_openssl_reads_the_key_and_checks_the_signature(tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "key").write_bytes(key.pem)
    note = read_note(key.signer.sign(CHECKPOINT))
    (tmp_path / "text").write_text(note.text)
    (tmp_path / "signature").write_bytes(note.signatures[0].signature)
    public = ["openssl", "pkey", "-in", "key", "-pubout", "-out", "public"]
    subprocess.run(public, cwd=tmp_path, check=True)
    check = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public", "-rawin", "-in", "text"]
    done = subprocess.run([*check, "-sigfile", "signature"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "Signature Verified Successfully")


def test_a_key_is_read_back_and_what_is_none_is_refused() -> None:
    key = new_key()
    assert read_key(key.pem).public_key == key.public_key
    with pytest.raises(ValueError, match="holds no private key"):
        read_key(b"-----BEGIN")
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="another kind than Ed25519"):
        read_key(rsa)


def test_a_public_key_is_read_in_both_forms() -> None:
    key = new_key().public_key
    for _ in range(50):  # base64 with and without a plus
        key = new_key().public_key
        assert public_key_of(f"{key}\n") == key
        assert public_key_of(verifier_key(CHECKPOINT.origin, key)) == key
    for wrong in ("", "x", key[:-4], f"{key} {key}", verifier_key("a.b", key).replace("a.b", "a.c"), "ü"):
        with pytest.raises(ValueError, match="is no public key"):
            public_key_of(wrong)


def test_a_rotation_holds_for_its_record_and_keys_alone() -> None:
    old, new = new_key(), new_key()
    signature = old.sign(rotation_text("o", old.public_key, new.public_key))
    assert is_rotation("o", old.public_key, new.public_key, signature)
    assert not is_rotation("p", old.public_key, new.public_key, signature)
    assert not is_rotation("o", new.public_key, old.public_key, signature)
    assert not is_rotation("o", old.public_key, old.public_key, signature)
    assert not is_rotation("o", old.public_key, new.public_key, "")
    assert not is_rotation("o", "", new.public_key, signature)


def test_a_private_key_gives_its_public_one_and_no_word_of_what_is_no_key_is_said() -> None:
    key = new_key()
    pem = key.pem.decode()
    assert public_key_of(pem) == public_key_of("\n" + pem + "\n") == key.public_key
    secret = pem.splitlines()[1]
    for wrong in (secret, pem.replace(secret, secret[:-8]), secret + " " + secret, "-----BEGIN\n" + secret):
        with pytest.raises(ValueError, match=r"is no public key|holds no private key") as said:
            public_key_of(wrong)
        assert secret[20:28] not in str(said.value)
