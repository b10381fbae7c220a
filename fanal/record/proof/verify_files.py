"""The files of a record as `verify` reads them: their names, their hashes on all cores, and those that do not belong.

Hashing releases the interpreter, so that threads share the work; at most `MAX_THREADS` files are in memory at once.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fanal.record.files import TEMPORARY_PREFIX
from fanal.record.layout import BLOBS, TAILS
from fanal.record.proof.entries import page_names
from fanal.record.proof.leaves import TREE
from fanal.record.proof.manifest import Manifest
from fanal.record.proof.verify_blobs import hash_of
from fanal.record.proof.verify_writer import Expected, Finding, WriterCheck, blobs_in

MAX_THREADS = 8
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class _Read:
    """A segment's file as it was read."""

    num_bytes: int
    sha256: str
    blobs: set[str]


def all_files(record: Path) -> Iterator[str]:
    """Every file, and every link, inside the record."""
    for folder, folders, files in os.walk(record):
        inside = Path(folder).relative_to(record)
        yield from ((inside / name).as_posix() for name in files)
        yield from ((inside / name).as_posix() for name in folders if (Path(folder) / name).is_symlink())


def hash_files(record: Path, checks: Sequence[WriterCheck], names: Iterable[str]) -> dict[str, str]:
    """Hold the segments' files against their manifests; the hashes of all blobs, those that an event names too.

    A blob is written before the event that names it: so they are looked for after the events are read.
    """
    asked = [(check, one) for check in checks for one in check.expected]
    with ThreadPoolExecutor(max_workers=min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        read = pool.map(lambda pair: _read(pair[0].place.folder / pair[1].inside, pair[1]), asked)
        for (check, expected), found in zip(asked, read, strict=True):
            _hold(check, expected, found)
        listed = {name.rpartition("/")[2] for name in names if _is_blob(name) and not (record / name).is_symlink()}
        blobs = sorted(listed | named_blobs(checks))
        hashed = pool.map(lambda name: hash_of(record / BLOBS / name), blobs)
        return {name: one for name, one in zip(blobs, hashed, strict=True) if one is not None}


def _read(path: Path, expected: Expected) -> _Read | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return _Read(len(data), hashlib.sha256(data).hexdigest(), blobs_in(data) if expected.role == "facts" else set())


def _hold(check: WriterCheck, expected: Expected, found: _Read | None) -> None:
    if found is None:
        check.wrong(expected.inside, "is missing")
    elif found.num_bytes != expected.num_bytes:
        check.wrong(expected.inside, f"has {found.num_bytes} bytes, and had {expected.num_bytes} when it was closed")
    elif found.sha256 != expected.sha256:
        check.wrong(expected.inside, "has changed since it was closed")
    else:
        check.blobs |= found.blobs


def named_blobs(checks: Iterable[WriterCheck]) -> set[str]:
    """The blobs that events and values name."""
    return {name for check in checks for name in check.blobs}


def blob_names(record: Path, manifest: Manifest | None) -> set[str]:
    """The blobs that the manifest names: its pages, and in a copy the leaves after the last whole file."""
    if manifest is None:
        return set()
    named = {*page_names(record, (*manifest.pages, *manifest.tail_pages))}
    return named | ({manifest.tree.partial} if manifest.tree and manifest.tree.partial else set())


def strangers(record: Path, names: Iterable[str], checks: Iterable[WriterCheck]) -> tuple[list[Finding], list[str]]:
    """What to say of files that nothing in the record names."""
    bad: list[Finding] = []
    notes: list[str] = []
    unfinished = tuple(f"{check.place.name}/seg/{check.segments + 1}." for check in checks if not check.ended)
    for name in names:
        folder, _, base = name.rpartition("/")
        if (record / name).is_symlink():
            bad.append(Finding(name, "is a link, and no part of the record"))
        elif any(part.startswith(TEMPORARY_PREFIX) for part in name.split("/")):
            notes.append(f"{name}: left by a process that was interrupted while writing; no part of the record")
        elif name.startswith(unfinished):
            notes.append(f"{name}: of a closing under way or interrupted; no part of the record yet")
        elif folder == TREE and base.isdecimal():
            notes.append(f"{name}: of a commit that was interrupted; no part of the record yet")
        elif folder == TAILS and _SHA256.fullmatch(base):
            if hash_of(record / name) != base:
                bad.append(Finding(name, "has changed since it was published"))
        elif not _is_blob(name) and (record / name).exists():
            bad.append(Finding(name, "is no part of the record"))
    return bad, notes


def _is_blob(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    return folder == BLOBS and _SHA256.fullmatch(base) is not None
