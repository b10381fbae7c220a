"""Checks the blobs: each is what its name says, each that an event names is there or was redacted by an event.

Blobs are read in pieces. One that nothing names was left by an interruption, or is a page of an earlier manifest.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fanal.record.layout import BLOBS
from fanal.record.proof.verify_writer import Finding


@dataclass(frozen=True)
class BlobsCheck:
    """What was found of the blobs."""

    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    redacted: dict[str, str] = field(default_factory=dict[str, str])
    """By SHA-256, why: blobs whose bytes are gone."""


def hash_of(path: Path) -> str | None:
    """SHA-256 of a file; None where it is not there."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def check_blobs(
    hashes: Mapping[str, str], named: Iterable[str], known: set[str], reasons: Mapping[str, str]
) -> BlobsCheck:
    """Hold what lies in `blobs/` against what is named.

    `hashes` are those of the files, by name; `named` is what events name, `known` what the manifest does; `reasons`
    are the redactions.
    """
    check = BlobsCheck(redacted={name: why for name, why in reasons.items() if name not in hashes})
    named = set(named)
    for name in sorted(hashes.keys() | named):
        if name in hashes and hashes[name] != name:
            check.bad.append(Finding(f"{BLOBS}/{name}", "has changed since it was written"))
        elif name not in hashes and name not in reasons:
            check.bad.append(Finding(f"{BLOBS}/{name}", "is missing: an event names it, and none says it was redacted"))
    check.notes.extend(
        f"{BLOBS}/{name}: was redacted, and its bytes are still here: `fanal redact` removes them"
        for name in sorted(reasons.keys() & hashes.keys())
    )
    if idle := hashes.keys() - named - known - reasons.keys():
        plural = "blob that nothing names" if len(idle) == 1 else "blobs that nothing names"
        check.notes.append(f"{BLOBS}: {len(idle)} {plural}: pages of earlier manifests, or left by an interruption")
    return check
