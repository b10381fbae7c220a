"""Ed25519: making keys, signing notes and rotations, checking both. The one place that loads `cryptography`.

Imported by commands and by processes that close and publish, never by one that trains. Keys and signatures are raw
bytes, in base64 where they are written down.
"""

import base64
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from fanal.record.proof.checkpoint import ED25519, KEY_BYTES, Checkpoint, SignedNote, Signer, key_id, note_of


@dataclass(frozen=True)
class SigningKey:
    """A key that signs."""

    private: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """The public key, base64."""
        return base64.b64encode(self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    @property
    def pem(self) -> bytes:
        """The private key as PKCS8 PEM, which openssl reads too."""
        return self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, data: bytes) -> str:
        """A signature, base64."""
        return base64.b64encode(self.private.sign(data)).decode()

    @property
    def signer(self) -> Signer:
        """This key as `manifest.commit` takes it."""
        public = base64.b64decode(self.public_key)

        def sign(checkpoint: Checkpoint) -> str:
            return note_of(checkpoint, public, self.private.sign(checkpoint.text.encode()))

        return Signer(self.public_key, sign)


def new_key() -> SigningKey:
    """A fresh key."""
    return SigningKey(Ed25519PrivateKey.generate())


def read_key(pem: bytes) -> SigningKey:
    """The key in PEM.

    Raises:
        ValueError: it is no Ed25519 private key.
    """
    try:
        private = load_pem_private_key(pem, None)
    except (TypeError, ValueError) as error:
        raise ValueError("holds no private key in PEM without a password") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise ValueError("holds a key of another kind than Ed25519")
    return SigningKey(private)


def public_key_of(text: str) -> str:
    """The public key, base64, in its plain form, as C2SP writes it (`name+key id+base64`), or of a private key in PEM.

    Raises:
        ValueError: it is none of these; never holds a word of the text, which may be somebody's secret.
    """
    if "PRIVATE KEY-----" in text:
        return read_key(text.strip().encode()).public_key
    words = text.split()
    last = words[0] if len(words) == 1 else ""
    parts = last.split("+", 2)
    if len(parts) == 3 and len(parts[1]) == 8 and "." in parts[0]:
        data = _decoded(parts[2])
        if data[:1] == ED25519 and key_id(parts[0], data[1:]).hex() == parts[1]:
            return base64.b64encode(data[1:]).decode()
    if len(_decoded(last)) == KEY_BYTES:
        return last
    raise ValueError("is no public key: it must be 32 bytes in base64, or name+key id+base64")


def verifier_key(name: str, public_key: str) -> str:
    """A public key as C2SP writes it, for a record's notes."""
    public = base64.b64decode(public_key)
    return f"{name}+{key_id(name, public).hex()}+{base64.b64encode(ED25519 + public).decode()}"


def is_signed_by(note: SignedNote, public_key: str) -> bool:
    """Whether a note carries a valid signature by the key under the note's own name."""
    public = _decoded(public_key)
    if len(public) != KEY_BYTES:
        return False
    wanted = key_id(note.checkpoint.origin, public)
    return any(
        one.name == note.checkpoint.origin and one.key_id == wanted and _fits(public, one.signature, note.text.encode())
        for one in note.signatures
    )


def rotation_text(origin: str, old: str, new: str) -> bytes:
    """What the old key signs when a new one takes its place."""
    return f"fanal key rotation\n{origin}\n{old}\n{new}\n".encode()


def is_rotation(origin: str, old: str, new: str, signature: str) -> bool:
    """Whether the old key says that the new one takes its place."""
    public, signed = _decoded(old), _decoded(signature)
    return len(public) == KEY_BYTES and _fits(public, signed, rotation_text(origin, old, new))


def _fits(public: bytes, signature: bytes, data: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _decoded(text: str) -> bytes:
    """The bytes in base64, or none where it is not."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
