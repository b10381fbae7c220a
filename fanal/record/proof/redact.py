"""`fanal redact`: a blob's bytes go, its hash stays, and an event in the record says why.

The event is written and closed first, the file removed after: a crash in between leaves the event, and the next call
(or publisher, or follower) removes what events name. The hash covers 16 random bytes that go too, so that no guess of
the content can be tested against it. What a backup or a stranger's copy holds is out of reach.
"""

import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError, RefusedError
from fanal.record.attempt import journal
from fanal.record.blobs import PLAIN_BYTES
from fanal.record.files import DamagedError, sync_folder
from fanal.record.layout import BLOBS, find_record
from fanal.record.proof.journal_facts import redactions
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.verify_files import blob_names

LEAST_DIGITS = 8
_DIGITS = re.compile(rf"[0-9a-f]{{{LEAST_DIGITS},64}}")


@dataclass(frozen=True)
class RedactReport:
    """What was redacted."""

    record: str
    blob: str
    reason: str
    """As the record says it: the first reason given counts."""
    was_redacted_before: bool
    removed: tuple[str, ...]
    """Blobs whose bytes were removed now."""
    replacement: str | None
    exit_code: int = 0

    @property
    def words(self) -> str:
        """The report for people."""
        done = "was redacted before" if self.was_redacted_before else "redacted"
        lines = [f"{self.record}: blob {self.blob} {done}: {self.reason}"]
        if self.replacement:
            lines.append(f"blob {self.replacement} stands in its place")
        lines += [f"blobs/{name}: bytes removed" for name in self.removed]
        return "\n".join([*lines, "publishers and followers of this record remove theirs at their next contact"])

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return asdict(self) | {"words": self.words}


def redact(path: str | Path, blob: str, reason: str, replace: str | Path | None = None) -> RedactReport:
    """Remove a blob's bytes from a record; `blob` is its SHA-256 or the first digits of it.

    Raises:
        RecordError: no such record, blob or file, or no reason.
        RefusedError: the blob is a page of the manifest.
    """
    record = find_record(Path(path))
    if not reason.strip():
        raise RecordError("a redaction needs a reason, which everybody can read: --reason TEXT")
    if replace is not None and not Path(replace).is_file():
        raise RecordError(f"{replace} is no file: --replace names what shall stand in the blob's place")
    known = redactions(record)
    name = _resolved(record, blob, known)
    replacement = None
    if name not in known:
        _refuse_pages(record, name)
        with journal(record) as run:
            reference = run.file_blob(replace, PLAIN_BYTES) if replace is not None else None
            run.event("redaction", blob=name, reason=reason, replacement=reference)
        replacement = reference["$blob"] if reference else None
    removed = remove_redacted(record)
    return RedactReport(str(record), name, known.get(name, reason), name in known, tuple(removed), replacement)


def remove_redacted(record: Path) -> list[str]:
    """Remove the bytes of every blob that the record's events say was redacted; the names of those that were there."""
    removed: list[str] = []
    for name in sorted(redactions(record)):
        try:
            os.unlink(record / BLOBS / name)  # noqa: PTH108  named so that the tests can stop at each of these calls
        except FileNotFoundError:
            continue
        removed.append(name)
    if removed:
        sync_folder(record / BLOBS)
    return removed


def _resolved(record: Path, blob: str, known: dict[str, str]) -> str:
    digits = blob.removeprefix(f"{BLOBS}/").lower()
    if not _DIGITS.fullmatch(digits):
        raise RecordError(f"{blob[:80]!r} names no blob: give its SHA-256, or the first {LEAST_DIGITS} digits or more")
    there = {path.name for path in (record / BLOBS).glob(f"{digits}*")} | {n for n in known if n.startswith(digits)}
    if len(there) != 1:
        found = "none" if not there else f"{len(there)}, for instance {min(there)}"
        raise RecordError(f"{record / BLOBS}: one blob must begin with {digits}, found {found}")
    return there.pop()


def _refuse_pages(record: Path, name: str) -> None:
    try:
        pages = blob_names(record, read_manifest(record))
    except DamagedError as error:
        raise RecordError(f"{error}: run `fanal verify`, then restore the file from a copy") from error
    if name in pages:
        raise RefusedError(f"blob {name} is a page of the record's manifest, which people's words are never part of")
