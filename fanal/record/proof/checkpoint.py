"""What is signed: a checkpoint in the format of C2SP, and the signed note around it. Text only, no cryptography.

    fanal.dev/record/<first 16 hex of the SHA-256 of record.json>
    <segments>
    <root, base64>
    manifest <SHA-256 of the manifest's canonical bytes without `note` and `self`>

    — <first line> <base64 of 4 bytes key id and 64 bytes Ed25519 signature over the lines before the empty one>

Source: c2sp.org/signed-note and c2sp.org/tlog-checkpoint.
"""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

ED25519 = b"\x01"
KEY_BYTES, ID_BYTES, SIGNATURE_BYTES = 32, 4, 64
_LAST_LINE = re.compile(r"manifest ([0-9a-f]{64})")


@dataclass(frozen=True)
class Checkpoint:
    """A tree, and the manifest that came with it."""

    origin: str
    size: int
    root: bytes
    manifest: str
    """SHA-256 of the manifest without `note` and `self`, hexadecimal."""

    @property
    def text(self) -> str:
        """The bytes that are signed, as text."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\nmanifest {self.manifest}\n"


@dataclass(frozen=True)
class Signature:
    """One signature line of a note."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True)
class SignedNote:
    """A note as it was read; nothing in it is checked yet."""

    text: str
    checkpoint: Checkpoint
    signatures: tuple[Signature, ...]


@dataclass(frozen=True)
class Signer:
    """Who signs: given to `manifest.commit` by processes that may load a key."""

    public_key: str
    """Ed25519, base64."""
    sign: Callable[[Checkpoint], str]
    """The signed note over a checkpoint."""
    after: str | None = None
    """The manifest's key when this one was chosen: where another has come since, this one signs no more."""


def origin_of(record_sha256: str) -> str:
    """The first line of a record's checkpoints, which is also its key's name."""
    return f"fanal.dev/record/{record_sha256[:16]}"


def key_id(name: str, public_key: bytes) -> bytes:
    """What a signature line begins with, so that a reader finds the key."""
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + public_key).digest()[:ID_BYTES]


def note_of(checkpoint: Checkpoint, public_key: bytes, signature: bytes) -> str:
    """The note with one signature."""
    name = checkpoint.origin
    signed = base64.b64encode(key_id(name, public_key) + signature).decode()
    return f"{checkpoint.text}\n— {name} {signed}\n"


def read_note(note: str) -> SignedNote:
    """The parts of a note, with or without signatures.

    Raises:
        ValueError: it is none of ours; says in what.
    """
    text, _, signed = note.partition("\n\n")
    lines = text.rstrip("\n").split("\n")
    said = _LAST_LINE.fullmatch(lines[3]) if len(lines) == 4 else None
    if said is None or not lines[0] or not re.fullmatch(r"0|[1-9][0-9]{0,18}", lines[1]):
        raise ValueError("is no checkpoint of a record: it must have an origin, a size, a root and a line `manifest …`")
    root = _decoded(lines[2])
    if len(root) != KEY_BYTES:
        raise ValueError(f"its third line must be a root of 32 bytes in base64, got {len(root)}")
    checkpoint = Checkpoint(lines[0], int(lines[1]), root, said[1])
    return SignedNote(checkpoint.text, checkpoint, tuple(map(_signature, signed.splitlines())))


def _signature(line: str) -> Signature:
    dash, _, rest = line.partition(" ")
    name, _, encoded = rest.rpartition(" ")
    data = _decoded(encoded)
    if dash != "—" or not name or len(data) <= ID_BYTES:
        raise ValueError("is no signed note: a signature line must be `— name base64`")
    return Signature(name, data[:ID_BYTES], data[ID_BYTES:])


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError("its root and its signatures must be base64") from error
