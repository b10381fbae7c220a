"""Whether a published manifest continues the one a copy was made from: nothing shrunk or replaced, no other branch.

An older manifest of the same history is no fault: a cache may still give it. Names that come from elsewhere are held
against the rules of a record before any of them becomes a path. What a killed or refused round left in a copy, and no
checked manifest names, is removed here.
"""

import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fanal.record.copies.fetching import AlteredError
from fanal.record.files import sha256, sync_folder, unseal
from fanal.record.layout import LOG, OWNER_FILE, RUNS, SEGMENTS, WriterPath, numbered
from fanal.record.log import Frame, read_header, scan
from fanal.record.proof.entries import Entry, Key, TailSlice
from fanal.record.proof.leaves import FILE_LEAVES, TREE, Leaf
from fanal.record.proof.manifest import Manifest
from fanal.record.proof.tree import leaf_hash, root

_HASH = re.compile(r"[0-9a-f]{64}")
_SEGMENT_FILE = re.compile(r"[1-9][0-9]{0,8}\.[a-z]{1,20}[0-9]{0,9}(?:\.[a-z]{1,10}){1,2}")


class HistoryError(Exception):
    """What is published is not the history that the copy holds; says where they part."""


class OlderError(Exception):
    """What is published is an earlier state of the copy's own history."""


def hold_slices(manifest: Manifest) -> None:
    """Hold that every slice is of a public writer that the manifest names; names alone are held where they are decoded.

    Raises:
        HistoryError: one is not.
    """
    public = {entry.key for entry in manifest.entries if entry.withheld is None}
    for one in manifest.tails or ():
        if one.key not in public or one.offset < 0 or one.bytes < 0:
            raise HistoryError(f"{one.sha256} cannot be a slice of a log: no public writer has one there")


def hold_segment(fields: Mapping[str, Any], entry: Entry, number: int) -> None:
    """Hold a segment's manifest against the writer and number it should be of.

    Raises:
        HistoryError: it is another's, or names a file that cannot be one of its own.
    """
    if (fields.get("run"), fields.get("attempt"), fields.get("writer"), fields.get("number")) != (*entry.key, number):
        raise HistoryError(f"{entry.name}/seg/{number}.json is another segment's")
    for file in fields["files"]:
        name, named = str(file["name"]), str(file["sha256"])
        if not _SEGMENT_FILE.fullmatch(name) or not name.startswith(f"{number}.") or not _HASH.fullmatch(named):
            raise HistoryError(f"{entry.name}/seg/{number}.json names {name[:100]!r}, which cannot be a file of it")


def is_hash(name: str) -> bool:
    """Whether a text can be a blob's name."""
    return _HASH.fullmatch(name) is not None


def hold_continuation(old: Manifest, old_leaves: Sequence[bytes], new: Manifest, leaves: Sequence[bytes]) -> None:
    """Hold a new manifest, and the leaves of its tree, against the one the copy has.

    Raises:
        HistoryError: it is of another record, another branch, or lacks what the copy has.
        OlderError: it is an earlier state of the same history.
    """
    if old.record_sha256 != new.record_sha256:
        raise HistoryError("it is another record")
    if len(leaves) < len(old_leaves):
        if list(old_leaves[: len(leaves)]) == list(leaves):
            raise OlderError(f"it has {len(leaves)} segments, and the copy has {len(old_leaves)}")
        raise HistoryError(f"its first {len(leaves)} segments are not those of the copy: the history forks")
    if root(leaves[: len(old_leaves)]) != root(old_leaves):
        raise HistoryError(f"its first {len(old_leaves)} segments are not those of the copy: the history forks")
    entries = {entry.key: entry for entry in new.entries}
    for entry in old.entries:
        _hold_entry(entry, entries.get(entry.key), len(leaves) > len(old_leaves))
    _hold_tails(old, new)


def _hold_entry(old: Entry, new: Entry | None, grown: bool) -> None:
    if new is None or new.segments < old.segments:
        what = f"{old.name} is gone" if new is None else f"{old.name} has {new.segments} of {old.segments} segments"
        raise HistoryError(what) if grown else OlderError(what)
    if new.owner_sha256 != old.owner_sha256:
        raise HistoryError(f"{old.name}/owner.json is another one")
    if new.segments == old.segments and new.last_sha256 != old.last_sha256:
        raise HistoryError(f"{old.name}/seg/{old.segments}.json is another one")
    if new.withheld is not None and old.withheld is None:
        raise HistoryError(f"{old.name} was public and is withheld now: only a redaction takes back what was published")


def _hold_tails(old: Manifest, new: Manifest) -> None:
    """What the old slices held is in newer slices or in newer segments."""
    before, after = last_sequences(old.tails or ()), last_sequences(new.tails or ())
    segments = {entry.key: entry.segments for entry in old.entries}
    for entry in new.entries:
        closed = entry.segments > segments.get(entry.key, 0)
        if not closed and after.get(entry.key, 0) < before.get(entry.key, 0):
            what = f"{entry.name} ends at frame {after.get(entry.key, 0)}, and the copy at {before[entry.key]}"
            raise OlderError(what)


def last_sequences(tails: Sequence[TailSlice]) -> dict[Key, int]:
    """By writer, the last frame that slices hold."""
    found: dict[Key, int] = {}
    for one in tails:
        found[one.key] = max(found.get(one.key, 0), one.last_sequence)
    return found


def by_log(tails: Iterable[TailSlice]) -> dict[tuple[Key, int], list[TailSlice]]:
    """Slices by the log that they are of, logs in order of their numbers, each by offset."""
    found: dict[tuple[Key, int], list[TailSlice]] = defaultdict(list)
    for one in sorted(tails, key=lambda one: (one.key, one.log, one.offset)):
        found[one.key, one.log].append(one)
    return found


def log_path(record: Path, key: Key, log: int) -> Path:
    """Where a log lies."""
    return WriterPath(record, *key).folder / LOG / f"{log}.log"


def has_slice(path: Path, one: TailSlice) -> bool:
    """Whether a log holds a slice's bytes at their place."""
    return sha256(_bytes_at(path, one.offset, one.bytes)) == one.sha256


def hold_same(path: Path, one: TailSlice, data: bytes, before: Iterable[TailSlice]) -> None:
    """Hold a slice against what the log has of the slices before it.

    Raises:
        HistoryError: it says other bytes in a place where the log has some.
    """
    for held in before:
        start, end = max(held.offset, one.offset), min(held.offset + held.bytes, one.offset + one.bytes)
        if start >= end or not has_slice(path, held):
            continue
        if _bytes_at(path, start, end - start) != data[start - one.offset : end - one.offset]:
            raise HistoryError(f"bytes {start} to {end} of {path} are others at the source: its log was rewritten")


def write_at(path: Path, offset: int, data: bytes) -> None:
    """Put bytes into a log; a crash leaves a torn tail, which the next round completes."""
    make_folders(path.parent)
    is_new = not path.exists()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(handle, data[done:], offset + done)
        os.fsync(handle)
    finally:
        os.close(handle)
    if is_new:
        sync_folder(path.parent)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, whose names a crash does not take back."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def last_frame(path: Path) -> int:
    """Sequence number of the last whole frame of a log; 0 where there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    header = read_header(data)
    if header is None:
        return 0
    return max((one.sequence for one in scan(data, header) if isinstance(one, Frame)), default=0)


def covered(writer: Path) -> int:
    """Sequence number up to which the segments in a writer's folder reach; 0 where there are none."""
    number = max(numbered(writer / SEGMENTS, ".json"), default=0)
    fields = unseal((writer / SEGMENTS / f"{number}.json").read_bytes()) if number else ""
    return int(fields["last_sequence"]) if isinstance(fields, dict) else 0


def read_leaf(line: bytes) -> Leaf:
    """A leaf as a source says it.

    Raises:
        AlteredError: it is none.
    """
    try:
        leaf = Leaf(**json.loads(line))
        if is_hash(leaf.leaf) and type(leaf.segment) is int and type(leaf.writer) is str:
            return leaf
    except (ValueError, TypeError, RecursionError) as error:
        raise AlteredError("a leaf of the published tree cannot be read") from error
    raise AlteredError(f"a leaf of the published tree says {line[:200]!r}, and none does")


def remove_strays(copy: Path, manifest: Manifest, leaves: Sequence[Leaf]) -> None:
    """Remove from a copy what a checked manifest does not name: a killed or refused round left it."""
    entries = {entry.name: entry for entry in manifest.entries}
    held = {(leaf.writer, leaf.segment): leaf.leaf for leaf in leaves}
    for folder in sorted(copy.glob(f"{RUNS}/*/*/*")):
        name = folder.relative_to(copy).as_posix()
        entry = entries.get(name)
        if entry is None:
            _remove_writer(folder)
        elif entry.withheld is not None:
            for inner in (SEGMENTS, LOG):
                shutil.rmtree(folder / inner, ignore_errors=True)
        else:
            _remove_segments(folder / SEGMENTS, [held.get((name, n + 1)) for n in range(entry.segments)])
    whole = len(leaves) // FILE_LEAVES
    for path in (copy / TREE).glob("*"):
        if path.name.isdecimal() and int(path.name) >= whole:
            path.unlink()


def _remove_writer(folder: Path) -> None:
    (folder / OWNER_FILE).unlink(missing_ok=True)  # without it the folder is no writer's
    shutil.rmtree(folder)
    for parent in (folder.parent, folder.parent.parent):
        with suppress(OSError):  # others lie in it
            parent.rmdir()


def _remove_segments(folder: Path, leaves: Sequence[str | None]) -> None:
    """Keep the first segments as far as they are those of the leaves and whole, and no file of another one."""
    numbers, kept = numbered(folder, ".json"), 0
    for number in numbers:
        is_next = number == kept + 1 and number <= len(leaves)
        if not is_next or not _is_whole(folder, number, leaves[kept]):
            break
        kept = number
    for number in reversed(numbers[kept:]):
        (folder / f"{number}.json").unlink()
    for path in folder.glob("*"):
        number = path.name.partition(".")[0]
        if not number.isdecimal() or not 0 < int(number) <= kept:
            path.unlink()


def _is_whole(folder: Path, number: int, leaf: str | None) -> bool:
    """Whether a segment of the copy is the one of that leaf, and every file of it what it was."""
    body = (folder / f"{number}.json").read_bytes()
    if leaf_hash(body).hex() != leaf:
        return False
    files = json.loads(body)["files"]
    return all(
        (path := folder / file["name"]).is_file() and sha256(path.read_bytes()) == file["sha256"] for file in files
    )


def cut_logs(copy: Path, manifest: Manifest) -> None:
    """Remove logs, and ends of logs, of which the manifest names no slice: segments hold them, or nobody said them."""
    ends = {log: slices[-1].offset + slices[-1].bytes for log, slices in by_log(manifest.tails or ()).items()}
    for entry in manifest.entries:
        for number in numbered(WriterPath(copy, *entry.key).folder / LOG, ".log"):
            path, end = log_path(copy, entry.key, number), ends.get((entry.key, number))
            if end is None:
                path.unlink()
            elif path.stat().st_size > end:
                os.truncate(path, end)


def _bytes_at(path: Path, offset: int, num_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(num_bytes)
    except FileNotFoundError:
        return b""
