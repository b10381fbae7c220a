"""Checks what stands above the tree: the signed note, whose key it is, and whether an earlier root is its beginning.

A key first seen with a record is remembered once the record is found whole; another one is refused unless rotations,
each signed by the key before, lead to it, or from it to the remembered one: then the copy is an older one. A note older
than the manifest covers the tree up to its size.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from fanal.errors import RecordError
from fanal.record.layout import MANIFEST_FILE
from fanal.record.proof.checkpoint import SignedNote, read_note
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.keys import own_public_keys, rotations
from fanal.record.proof.known_keys import KnownKey, remember, remembered
from fanal.record.proof.manifest import Manifest
from fanal.record.proof.signing import is_signed_by, public_key_of
from fanal.record.proof.tree import EMPTY_ROOT, root, roots
from fanal.record.proof.verify_writer import Finding

_ROOT = re.compile(r"([0-9]{1,18}:)?([0-9a-f]{64})")


@dataclass(frozen=True)
class Since:
    """A root seen earlier."""

    root: bytes
    size: int | None
    """Segments that it covers, where that is known."""
    origin: str | None
    """Its record, where it was given as a note."""


@dataclass
class RootCheck:
    """What was found of the note and the key."""

    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    key: str | None = None
    """Public key of a valid signature, base64; None where nothing is signed."""
    covers: int | None = None
    """Segments that the signature covers, where that is not everything."""
    refused: str | None = None
    """The key that was remembered or given, where the valid signature is another's."""
    new_to_us: bool = False
    keep: KnownKey | None = None
    """What is to be remembered once the record is found whole, where that is anything new."""


def read_since(text: str) -> Since:
    """A root in hexadecimal, with its size before it or without, or the note in a file.

    Raises:
        RecordError: it is none of these.
    """
    path = Path(text)
    if _is_file(path):
        try:
            said = read_note(path.read_text("utf-8")).checkpoint
        except (ValueError, UnicodeDecodeError) as error:
            raise RecordError(f"{path} {error}") from error
        return Since(said.root, said.size, said.origin)
    found = _ROOT.fullmatch(text.lower())
    if found is None:
        raise RecordError(
            f"{text[:80]!r} is no root: give 64 hexadecimal digits, SIZE: and these, or a file with a note seen earlier"
        )
    return Since(bytes.fromhex(found[2]), int(found[1][:-1]) if found[1] else None, None)


def read_wanted_key(text: str) -> str:
    """A public key as given, or in a file; of a private one the public key. What a file holds is never said.

    Raises:
        RecordError: it is none.
    """
    path = Path(text)
    is_file = _is_file(path)
    try:
        return public_key_of(path.read_text("utf-8") if is_file else text)
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is no public key: it is no text") from error
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        what = str(path) if is_file else f"what was given as a key ({len(text)} characters) is the name of no file and"
        raise RecordError(f"{what} {error}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or no name at all
        return False


def check_root(record: Path, manifest: Manifest | None, leaves: Sequence[bytes], wanted: str | None) -> RootCheck:
    """Hold the note against the tree and its key against the one that is wanted or remembered."""
    found = RootCheck()
    if manifest is None:
        return found
    kept = remembered(manifest.origin)
    if manifest.note is None:
        _check_unsigned(record, manifest, found, wanted, kept)
        return found
    try:
        note = read_note(manifest.note)
    except ValueError as error:
        found.bad.append(Finding(MANIFEST_FILE, f"its note {error}"))
        return found
    if what := _wrong(manifest, note, leaves):
        found.bad.append(Finding(MANIFEST_FILE, what))
        return found
    found.key = manifest.public_key
    if note.checkpoint.manifest != manifest.body_sha256:
        found.covers = note.checkpoint.size
    _check_key(record, manifest, found, wanted, kept)
    return found


def _wrong(manifest: Manifest, note: SignedNote, leaves: Sequence[bytes]) -> str | None:
    said = note.checkpoint
    if said.origin != manifest.origin:
        return f"its note is of {said.origin}, and this is {manifest.origin}"
    if manifest.public_key is None or not is_signed_by(note, manifest.public_key):
        return "the signature of its note does not fit"
    if said.size > len(leaves):
        return f"is shorter than its signed root: the note covers {said.size} segments, the tree has {len(leaves)}"
    if root(leaves[: said.size]) != said.root:
        return f"its note is of another history: the root over the first {said.size} segments is not the signed one"
    return None


def _check_unsigned(
    record: Path, manifest: Manifest, found: RootCheck, wanted: str | None, kept: KnownKey | None
) -> None:
    known = wanted or (kept.key if kept else None)
    if known is None:
        return
    if wanted is None and kept and _was_never_signed(record, manifest, kept):
        found.notes.append(
            f"{MANIFEST_FILE}: not signed yet, only published copies were, by {known}: `fanal key new RECORD` signs it"
        )
    else:
        found.bad.append(Finding(MANIFEST_FILE, f"is not signed, and {known} is known as this record's key"))


def _was_never_signed(record: Path, manifest: Manifest, kept: KnownKey) -> bool:
    """Whether an unsigned record may be one that no process signed yet, rather than one whose signature was taken away.

    Its publisher signs copies with the user's key, and the record itself is signed by the next commit. So it must be no
    copy, its key must be this user's own and seen in copies alone, and the record must name no key itself.
    """
    names_none = manifest.public_key is None and not journal_facts(record, "key")
    return kept.only_published and manifest.tails is None and names_none and kept.key in own_public_keys()


def _check_key(record: Path, manifest: Manifest, found: RootCheck, wanted: str | None, kept: KnownKey | None) -> None:
    key, known = found.key, wanted or (kept.key if kept else None)
    assert key is not None, "only called for a valid signature"
    if known is not None and known != key:
        if rotations(record, known)[-1] == key:
            found.notes.append(f"key rotated: {known} handed over to {key}")
        elif wanted is None and kept and key in kept.before:
            found.notes.append(
                f"older: signed by {key}, the key before {known}; whoever holds that key can have made it since, and "
                "`--since` a root seen earlier would tell"
            )
        else:
            found.refused = known
            return
    at_home = manifest.tails is None
    if kept is None:
        # Anybody can hand over to this key, so that only our own keys are believed to have been before it.
        paths = [path for own in own_public_keys() if (path := rotations(record, own))[-1] == key]
        before = max(paths, key=len, default=[key])[-2::-1]
        found.new_to_us, found.keep = True, KnownKey(key, tuple(before), not at_home)
    elif key == kept.key or key in kept.before:
        found.keep = replace(kept, only_published=False) if kept.only_published and at_home else None
    elif (path := rotations(record, kept.key))[-1] == key:
        before = dict.fromkeys([*reversed(path[:-1]), *kept.before])
        found.new_to_us, found.keep = True, KnownKey(key, tuple(before), kept.only_published and not at_home)


def keep_key(manifest: Manifest, found: RootCheck) -> None:
    """Remember the key of a record that was found whole, and say so where it is new."""
    if found.keep is None:
        return
    try:
        remember(manifest.origin, found.keep)
    except OSError as error:
        found.notes.append(f"key {found.key} was seen and cannot be remembered: {error.strerror or error}")
        return
    if found.new_to_us:
        found.notes.append(f"key {found.key} is remembered for this record: another one will be refused")


@dataclass(frozen=True)
class Appended:
    """A tree that begins with an earlier one."""

    size: int
    """Leaves of the earlier one."""
    now: int

    @property
    def words(self) -> str:
        """The same for people."""
        return f"continues the root seen earlier: {self.size} segments then, {self.now} now, none of those changed"


def check_since(manifest: Manifest | None, leaves: Sequence[bytes], since: Since) -> str | Appended:
    """How the tree continues an earlier one, or what is wrong where it does not.

    Raises:
        RecordError: the note is of another record.
    """
    num, size = len(leaves), since.size
    if since.origin is not None and manifest is not None and since.origin != manifest.origin:
        raise RecordError(f"the note is of {since.origin}, and this record is {manifest.origin}: give one of its own")
    if size is None:
        known = enumerate(chain((EMPTY_ROOT,), roots(leaves)))
        size = next((n for n, one in known if one == since.root), None)
        if size is None:
            return f"does not continue the root seen earlier: no beginning of its {num} segments has that root"
    if size > num:
        return f"is shorter than the root seen earlier: that covers {size} segments, this has {num}"
    if root(leaves[:size]) != since.root:
        return f"is another history: its first {size} segments do not have the root seen earlier"
    return Appended(size, num)
