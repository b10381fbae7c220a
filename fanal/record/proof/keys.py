"""Which key signs a record: the key file, the keys before it, and rotations that a record's own events prove.

The key is Ed25519 in PEM, in `FANAL_KEY_FILE` or the file `key` of the configuration folder, readable by its owner
alone; it is never made unasked and never overwritten: a rotation keeps the old one beside it as `key.<id>`. A record is
signed with the key that signed it before or that its last rotation names, whichever of ours that is.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fanal.errors import RecordError, RefusedError
from fanal.record.files import TEMPORARY_PREFIX, sha256, sync_folder, write_synced
from fanal.record.layout import RECORD_FILE, WriterPath
from fanal.record.proof import manifest
from fanal.record.proof.checkpoint import Signer, origin_of
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.known_keys import config_folder, remembered
from fanal.record.proof.signing import SigningKey, is_rotation, read_key

KEY_FILE = "key"


def key_file() -> Path:
    """Where the key is, or would be."""
    named = os.environ.get("FANAL_KEY_FILE")
    return Path(named) if named else config_folder() / KEY_FILE


def current_key(record: Path) -> str | None:
    """The public key that should sign the record's next root; None where no key is named yet.

    Raises:
        RecordError: what is remembered of keys cannot be read.
        DamagedError: the manifest has changed.
    """
    known = manifest.read_manifest(record)
    facts = journal_facts(record, "key")
    firsts = [fact.fields["public_key"] for fact in facts if not fact.fields.get("signature")]
    start = (known.public_key if known else None) or next(iter(firsts), None) or _seen_in_copies(record)
    return start and rotated(record, start)


def _seen_in_copies(record: Path) -> str | None:
    """The key of ours that signed published copies of a record which is unsigned itself."""
    seen = remembered(origin_of_record(record))
    return seen.key if seen and seen.key in own_public_keys() else None


def rotated(record: Path, public_key: str) -> str:
    """The key that the record's rotations lead to from `public_key`; that one itself where there are none."""
    return rotations(record, public_key)[-1]


def rotations(record: Path, public_key: str) -> list[str]:
    """`public_key`, and the keys that the record's rotations lead to from it, one after the other."""
    origin = origin_of_record(record)
    left = [fact.fields for fact in journal_facts(record, "key") if fact.fields.get("signature")]
    path = [public_key]
    while fits := [f for f in left if is_rotation(origin, path[-1], f["public_key"], f["signature"])]:
        left.remove(fits[-1])
        path.append(fits[-1]["public_key"])
    return path


def origin_of_record(record: Path) -> str:
    """The first line of the record's notes."""
    return origin_of(sha256((record / RECORD_FILE).read_bytes()))


def signer_for(record: Path) -> Signer | None:
    """The key at hand that should sign the record; None where there is none.

    Raises:
        RecordError: the key file is no key, others can read it, or it is named and not there.
        DamagedError: the record's manifest has changed.
    """
    known = manifest.read_manifest(record)
    key = key_for(record)
    return replace(key.signer, after=known.public_key if known else None) if key else None


def commit(record: Path, changed: Iterable[WriterPath] | None = None) -> str | None:
    """`manifest.commit`, signed where the key is at hand; where it cannot be used, why it is not signed."""
    try:
        signer, said = signer_for(record), None
    except RecordError as error:
        signer, said = None, f"not signed: {error}"
    except manifest.DamagedError as error:
        signer, said = None, f"not signed: {error}"
    manifest.commit(record, changed, signer)
    return said


def key_for(record: Path) -> SigningKey | None:
    """The key at hand that should sign the record; None where there is none.

    Raises:
        RecordError: the key file is no key, others can read it, or it is named and not there.
        DamagedError: the record's manifest has changed.
    """
    path = key_file()
    if not path.exists():
        if os.environ.get("FANAL_KEY_FILE"):
            raise RecordError(f"{path} is not there, and FANAL_KEY_FILE names it: `fanal key new` makes a key")
        return None
    keys, named = at_hand(), current_key(record)
    if named is None:
        return keys[0]
    return next((key for key in keys if key.public_key == named), None)


def at_hand() -> list[SigningKey]:
    """The key, one that is about to take its place, and those before."""
    return list(files_at_hand().values())


def files_at_hand() -> dict[Path, SigningKey]:
    """The keys at hand, the key first, by the file that holds each."""
    path = key_file()
    beside = sorted(p for p in path.parent.glob(f"{path.name}.*") if not p.name.startswith(TEMPORARY_PREFIX))
    return {one: load(one) for one in (path, *beside) if one.exists()}


def own_public_keys() -> set[str]:
    """The public keys of those at hand; none where they cannot be used."""
    try:
        return {key.public_key for key in at_hand()}
    except RecordError:
        return set()


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def archive_name(path: Path, key: SigningKey) -> Path:
    return beside(path, f".{hashlib.sha256(key.public_key.encode()).hexdigest()[:8]}")


def save(path: Path, key: SigningKey) -> None:
    """Put a key into a new file.

    Raises:
        RefusedError: the file is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        write_synced(temporary, key.pem)
        os.link(temporary, path)
    except FileExistsError as error:
        raise RefusedError(f"{path} holds a key already, which is never overwritten") from error
    finally:
        os.unlink(temporary)  # noqa: PTH108
    sync_folder(path.parent)


def load(path: Path) -> SigningKey:
    try:
        if path.stat().st_mode & 0o077:
            raise RecordError(f"{path} can be read by others than you: `chmod 600 {path}`, or make a new key")
        return read_key(path.read_bytes())
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise RecordError(f"{path} {error}") from error
