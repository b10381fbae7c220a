"""`fanal key new`, `show` and `rotate`: the key, and how a record says which one is its.

The first key of a record is an event of its run `_record`; a rotation is one that the old key signs. A rotation that
is killed at any point leaves a record that one of the keys at hand signs, and a second call goes on where it stopped.
"""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fanal.errors import RecordError, RefusedError
from fanal.record.attempt import journal
from fanal.record.files import sync_folder
from fanal.record.layout import find_record
from fanal.record.lock import held
from fanal.record.proof import keys
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.keys import archive_name, beside, key_file, load, origin_of_record, save
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.signing import SigningKey, new_key, rotation_text, verifier_key

NEXT = ".next"
"""A new key before the record's event names it, and until it has taken the old one's place."""


@dataclass(frozen=True)
class KeyReport:
    """A key, and what was done."""

    file: str
    public_key: str
    verifier_key: str | None
    """As C2SP writes it, for one record's notes."""
    done: str
    exit_code: int = 0

    @property
    def words(self) -> str:
        """The report for people."""
        lines = [f"{self.file}: {self.done}", f"public key {self.public_key}"]
        return "\n".join([*lines, *([f"verifier key {self.verifier_key}"] if self.verifier_key else [])])

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return asdict(self) | {"words": self.words}


def key_new(record: Path | None = None) -> KeyReport:
    """Make the key; with `record`, name it, or the one that is there, in that record and sign.

    Raises:
        RefusedError: there is a key already; with `record`, the record has another.
    """
    path = key_file()
    if path.exists() and record is None:
        raise RefusedError(f"{path} holds a key already: `fanal key rotate RECORD` puts a new one in its place")
    folder = find_record(record) if record else None
    made = not path.exists()
    if made:
        save(path, new_key())
    key, done = load(path), "made, and readable by you alone" if made else "was there already"
    if folder is None:
        return KeyReport(str(path), key.public_key, None, done)
    named = keys.current_key(folder)
    if named is not None and named != key.public_key:
        here = named in keys.own_public_keys()
        advice = f"`fanal key rotate {folder}` takes that one" if here else "name the file with the record's own"
        raise RefusedError(f"{folder} is signed by {named}, and {path} holds another key: {advice}")
    adopt(folder, key)
    keys.commit(folder)
    return _report(folder, key.public_key, done)


def key_show(record: Path | None = None) -> KeyReport:
    """The key at hand, or the one that signs or will sign `record`, as a verifier needs it.

    Raises:
        RecordError: there is no key; says how to make one.
    """
    path = key_file()
    if not path.exists():
        raise RecordError(f"{path} is not there: `fanal key new` makes a key")
    if record is None:
        return KeyReport(str(path), load(path).public_key, None, "the key that signs")
    folder = find_record(record)
    known, named = read_manifest(folder), keys.current_key(folder) or load(path).public_key
    is_signed = known is not None and known.note is not None
    file = next((file for file, key in keys.files_at_hand().items() if key.public_key == named), None)
    if file is None:
        words = "is signed by a key that is not here" if is_signed else "names a key that is not here, and is unsigned"
        return _report(folder, named, f"{folder} {words}", 1)
    done = f"the key that signs {folder}"
    if not is_signed:
        done = f"{folder} is not signed yet: the key that will sign it at its next commit, `fanal key new {folder}`"
    if file != path:
        done += f"; {path} holds another key since a rotation, `fanal key rotate {folder}` takes that one here too"
    return replace(_report(folder, named, done), file=str(file))


def key_rotate(record: Path, reason: str | None = None) -> KeyReport:
    """Put a new key in the place of the record's, by an event that the old one signs.

    Raises:
        RecordError: there is no key.
        RefusedError: the record is signed by a key that is not here.
    """
    folder, path = find_record(record), key_file()
    if not path.exists():
        raise RecordError(f"{path} is not there: `fanal key new` makes a key")
    with held(path.parent, path.name):
        old, coming = keys.key_for(folder), beside(path, NEXT)
        if old is None:
            named = keys.current_key(folder)
            raise RefusedError(f"{folder} is signed by {named}, which is not in {path} nor beside it: fetch that key")
        if coming.exists() and load(coming).public_key == old.public_key:
            new, done = old, "rotated: what was interrupted before is finished"
        else:
            new, done = _rotate(folder, old, reason), f"rotated; the key before is {archive_name(path, old).name}"
        if coming.exists():
            _take_place(path, coming)
    keys.commit(folder)
    return _report(folder, new.public_key, done)


def adopt(record: Path, key: SigningKey) -> None:
    """Name the key in the record's journal, unless some key is named there."""
    if not journal_facts(record, "key"):
        with journal(record) as run:
            run.event("key", public_key=key.public_key, signature=None, reason=None)


def _report(record: Path, public_key: str, done: str, exit_code: int = 0) -> KeyReport:
    return KeyReport(str(key_file()), public_key, verifier_key(origin_of_record(record), public_key), done, exit_code)


def _rotate(record: Path, old: SigningKey, reason: str | None) -> SigningKey:
    path = key_file()
    coming = beside(path, NEXT)
    if load(path).public_key != old.public_key:
        new = load(path)  # it was rotated for another record, and this one follows
    else:
        if not coming.exists():
            save(coming, new_key())
        new = load(coming)
    adopt(record, old)
    signature = old.sign(rotation_text(origin_of_record(record), old.public_key, new.public_key))
    with journal(record) as run:
        run.event("key", public_key=new.public_key, signature=signature, reason=reason)
    return new


def _take_place(path: Path, coming: Path) -> None:
    """Put the key that was beside, and the new one in its place."""
    before = load(path)
    kept = archive_name(path, before)
    if not kept.exists():
        save(kept, before)
    os.replace(coming, path)  # noqa: PTH105  named so that the tests can stop at each of these calls
    sync_folder(path.parent)
