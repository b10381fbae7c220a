"""Checks one writer: its owner file, its chain of segments, every file they name, and what its log still holds.

Nothing comes after a final segment; a log that segments hold whole may be left there, by a closing that was killed. A
published copy's log is held, slice by slice, against the hashes in the manifest, and has nothing else; a writer that is
withheld by declaration has its owner file there alone. Files of segments are named here and hashed by the caller, all
writers' together.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanal.record.files import DamagedError, read_document, sha256, unseal
from fanal.record.layout import LOG, MANIFEST_FILE, OWNER_FILE, SEGMENTS, TAILS, WriterPath, numbered
from fanal.record.log import FIRST_FRAME, read_header
from fanal.record.proof.entries import Entry, TailSlice
from fanal.record.proof.tree import leaf_hash
from fanal.record.segments.tail import READ_ERRORS, LogTail

_FILE = re.compile(r"[1-9][0-9]*\.[a-z0-9.]+")
_BLOB = re.compile(rb'"\$blob":"([0-9a-f]{64})"')


@dataclass(frozen=True)
class Finding:
    """A file that is not as it should be."""

    file: str
    """Its name inside the record."""
    what: str


@dataclass(frozen=True)
class Expected:
    """A file of a segment, as the segment's manifest names it."""

    inside: str
    """Its name inside the writer's folder."""
    role: str
    num_bytes: int
    sha256: str


@dataclass
class WriterCheck:
    """What was found of one writer."""

    place: WriterPath
    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    files: set[str] = field(default_factory=set[str])
    """Names inside the record that were checked."""
    segments: int = 0
    ended: bool = False
    """The last segment says that nothing came after it."""
    expected: list[Expected] = field(default_factory=list[Expected])
    """Files still to be hashed."""
    leaves: dict[int, str] = field(default_factory=dict[int, str])
    """By number, the leaf of each segment whose manifest is whole, hexadecimal."""
    blobs: set[str] = field(default_factory=set[str])
    """Blobs that events and values in the log name."""
    withheld: str | None = None
    """Why nothing but the owner file is here."""
    gaps: dict[int, int] = field(default_factory=dict[int, int])
    """By its last sequence number, how many frames a `gap` event says were dropped: they were never in the log."""

    def name(self, inside: str) -> str:
        """A file's name inside the record; it counts as checked."""
        name = f"{self.place.name}/{inside}"
        self.files.add(name)
        return name

    def wrong(self, inside: str, what: str) -> None:
        """A file is not as it should be."""
        self.bad.append(Finding(self.name(inside), what))

    def lost(self, missing: Sequence[Sequence[int]]) -> str:
        """The frames of `missing` that no `gap` event tells of; those that one tells of become a note."""
        told = [(first, last) for first, last in missing if self.gaps.get(last) == last - first + 1]
        for first, last in told:
            note = f"{self.place.name}: frames {first} to {last} found no place when they were logged; a gap says so"
            self.notes.append(note)
        return ", ".join(f"{first} to {last}" for first, last in missing if (first, last) not in told)


@dataclass(frozen=True)
class Against:
    """What the manifest says of a writer."""

    entry: Entry | None
    has_manifest: bool
    """There is a manifest, and it should name the writer."""
    slices: Sequence[TailSlice] | None
    """Of its logs; None where this is no published copy."""
    goes_on: bool
    """A living process writes it, or it may have joined an attempt at work after the manifest was written."""


def blobs_in(data: bytes) -> set[str]:
    """The blobs that JSON lines name; no text that a person supplied looks so, since its quotes are escaped."""
    return {name.decode() for name in _BLOB.findall(data)}


def check_writer(place: WriterPath, against: Against) -> WriterCheck:
    """Hold a writer's files against the manifest's entry and against each other."""
    check, entry = WriterCheck(place), against.entry
    _check_owner(check, entry)
    if entry is not None and entry.withheld is not None and against.slices is not None and not _has_content(place):
        check.withheld, check.segments = entry.withheld, entry.segments
        return check
    tail = LogTail(place.folder)
    tail.refresh()  # before the segments: what is being closed meanwhile is then seen at least once
    files = {number: f"{number}.log" for number in numbered(place.folder / LOG, ".log")}
    check.gaps = {n - 1: f.fields.get("frames", 0) for n, f in tail.facts if f.kind == "gap"}
    covered = _check_chain(check, entry)
    tail.forget(covered)
    _check_beyond(check, tail, covered, against)
    check.blobs |= blobs_in(b"".join(json.dumps(f.fields, separators=(",", ":")).encode() for _, f in tail.facts))
    if against.slices is not None:
        _check_slices(check, against.slices, covered)
        _check_unnamed(check, tail, covered, against.slices)
    _check_log(check, tail, files, against.slices is not None)
    had_log = check.segments > 0 or (entry is not None and entry.open)
    if against.slices is None and had_log and not check.ended and not files and not check.bad:
        check.wrong(f"{LOG}/1.log", "is missing: no segment says that it was the last")
    if against.has_manifest and entry is None and (tail.num_frames or check.segments):
        check.wrong(OWNER_FILE, f"is of a writer that {MANIFEST_FILE} does not name")
    return check


def _has_content(place: WriterPath) -> bool:
    return (place.folder / SEGMENTS).is_dir() or (place.folder / LOG).is_dir()


def _check_owner(check: WriterCheck, entry: Entry | None) -> None:
    path = check.place.folder / OWNER_FILE
    name = check.name(OWNER_FILE)
    try:
        fields = read_document(path)
    except FileNotFoundError:
        check.bad.append(Finding(name, "is missing"))
        return
    except DamagedError as error:
        check.bad.append(Finding(name, error.what))
        return
    if entry is not None and sha256(path.read_bytes()) != entry.owner_sha256:
        check.bad.append(Finding(name, f"is not the one that {MANIFEST_FILE} names"))
    elif not _is_of(fields, check.place):
        check.bad.append(Finding(name, "is another writer's"))


def _check_chain(check: WriterCheck, entry: Entry | None) -> int:
    """The chain of segments from the first on; the last sequence number they cover."""
    folder = check.place.folder / SEGMENTS
    named = entry.segments if entry else 0
    last = max(numbered(folder, ".json"), default=0)
    prev, covered = None, 0
    for number in range(1, max(last, named) + 1):
        inside = f"{SEGMENTS}/{number}.json"
        if check.ended:
            check.wrong(inside, f"came after segment {check.segments}, which says that it was the last")
            _cover_unreadable(check, number)
            continue
        check.segments = number
        found = _read_segment(folder / f"{number}.json")
        if isinstance(found, str):
            check.wrong(inside, found)
            _cover_unreadable(check, number)
            continue
        data, fields = found
        check.name(inside)
        if what := _wrong_link(check, fields, number, prev, covered):
            check.wrong(inside, what)
        elif entry is not None and number == named and sha256(data) != entry.last_sha256:
            check.wrong(inside, f"is not the one that {MANIFEST_FILE} names")
        else:
            check.leaves[number] = leaf_hash(data).hex()
        for file in fields["files"]:
            expected = Expected(f"{SEGMENTS}/{file['name']}", file["role"], file["bytes"], file["sha256"])
            check.name(expected.inside)
            check.expected.append(expected)
        prev, covered, check.ended = sha256(data), fields["last_sequence"], fields["final"]
    return covered


def _read_segment(path: Path) -> tuple[bytes, dict[str, Any]] | str:
    """A segment's manifest, its bytes and fields, or what is wrong with it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "is missing"
    fields = unseal(data)
    if isinstance(fields, str):
        return fields
    return (data, fields) if _is_segment(fields) else "is whole and says what no segment of this version says"


def _is_segment(fields: dict[str, Any]) -> bool:
    """Whether what is read here is there; no reader of a record from elsewhere may stumble over it."""
    kinds = {"number": int, "first_sequence": int, "last_sequence": int, "final": bool, "missing": list, "files": list}
    if not all(type(fields.get(name)) is kind for name, kind in kinds.items()):
        return False
    of_file = {"name": str, "role": str, "bytes": int, "sha256": str}
    return all(
        isinstance(file, dict)
        and all(type(file.get(name)) is kind for name, kind in of_file.items())
        and _FILE.fullmatch(file["name"])
        for file in fields["files"]
    )


def _wrong_link(check: WriterCheck, fields: dict[str, Any], number: int, prev: str | None, covered: int) -> str | None:
    if not _is_of(fields, check.place) or fields["number"] != number:
        return "is another segment's"
    if not check.bad and (fields["prev"] != prev or fields["first_sequence"] != covered + 1):
        return "does not continue the segment before it"
    if fields["missing"]:
        check.gaps |= _gaps_in(check.place, fields["files"])
        if lost := check.lost(fields["missing"]):
            return f"says that frames {lost} were damaged or lost before it was closed"
    return None


def _gaps_in(place: WriterPath, files: Sequence[dict[str, Any]]) -> dict[int, int]:
    """What the `gap` events of a segment say; a file that is missing or altered is named where it is hashed."""
    gaps: dict[int, int] = {}
    for file in files:
        path = place.folder / SEGMENTS / file["name"]
        if file["role"] != "facts" or not path.is_file():
            continue
        data = path.read_bytes()
        if sha256(data) != file["sha256"]:
            continue
        with suppress(*READ_ERRORS):  # a forged one says of no frames where they are
            facts = map(json.loads, data.splitlines())
            gaps |= {f["sequence"] - 1: f["fields"]["frames"] for f in facts if f["kind"] == "gap"}
    return gaps


def _cover_unreadable(check: WriterCheck, number: int) -> None:
    """Files of a segment whose manifest cannot be read are not strangers."""
    for path in (check.place.folder / SEGMENTS).glob(f"{number}.*"):
        check.name(f"{SEGMENTS}/{path.name}")


def _check_beyond(check: WriterCheck, tail: LogTail, covered: int, against: Against) -> None:
    """Frames beyond the segments, of a writer that has ended, or that had no log and is gone: nobody logged them."""
    closed = against.slices is None and against.entry is not None and not against.entry.open
    for name, last in tail.last_sequences().items():
        if last <= covered:
            continue
        if check.ended:
            what = f"holds frames after segment {check.segments}, which says that it was the last"
            check.wrong(f"{LOG}/{name}", what)
        elif closed and not against.goes_on:
            check.wrong(f"{LOG}/{name}", f"holds frames of a writer that had no log by {MANIFEST_FILE}, and is gone")


def _check_unnamed(check: WriterCheck, tail: LogTail, covered: int, slices: Sequence[TailSlice]) -> None:
    """A copy's log is its slices and no more; one that no slice names any more may be left where segments hold it."""
    ends: dict[int, int] = {}
    for one in slices:
        ends[one.log] = max(ends.get(one.log, 0), one.offset + one.bytes)
    last, known = tail.last_sequences(), {found.file for found in check.bad}
    for number in numbered(check.place.folder / LOG, ".log"):
        inside, end = f"{LOG}/{number}.log", ends.get(number, 0)
        if check.name(inside) in known or (number not in ends and 0 < last.get(f"{number}.log", 0) <= covered):
            continue
        try:
            more = len((check.place.folder / inside).read_bytes()[end:].rstrip(b"\0"))
        except FileNotFoundError:
            continue  # dropped meanwhile
        if more:
            why = "they were added, or `fanal follow` was interrupted and completes them"
            check.wrong(inside, f"holds {more} bytes from {end} on that {MANIFEST_FILE} does not name: {why}")


def _check_slices(check: WriterCheck, slices: Sequence[TailSlice], covered: int) -> None:
    """Every slice of a log is there, as its own file or as a stretch of the log that was put together from it."""
    reached = covered
    for one in sorted(slices, key=lambda one: (one.log, one.offset)):
        if one.first_sequence > reached + 1 and check.lost([(reached + 1, one.first_sequence - 1)]):
            check.wrong(f"{LOG}/{one.log}.log", f"frames {reached + 1} to {one.first_sequence - 1} are missing")
        reached = max(reached, one.last_sequence)
        own, log = f"{TAILS}/{one.sha256}", f"{check.place.name}/{LOG}/{one.log}.log"
        there = [place for place in ((own, 0), (log, one.offset)) if (check.place.record / place[0]).is_file()]
        for name, start in there:
            _hold_slice(check, one, name, start)
        if not there and one.last_sequence > covered:  # otherwise the segment that covers it came in its place
            check.wrong(f"{LOG}/{one.log}.log", f"is missing: {MANIFEST_FILE} names bytes of it from {one.offset} on")


def _hold_slice(check: WriterCheck, one: TailSlice, name: str, start: int) -> None:
    """Hold the bytes of a file from `start` on against a slice."""
    is_own = name.startswith(f"{TAILS}/")
    check.files.add(name)
    with (check.place.record / name).open("rb") as file:
        file.seek(start)
        data = file.read(-1 if is_own else one.bytes)
    if is_own:
        check.blobs |= blobs_in(data)
    if len(data) < one.bytes:
        check.bad.append(Finding(name, f"ends early: {MANIFEST_FILE} names {one.bytes} bytes from {one.offset} on"))
    elif sha256(data) != one.sha256:
        check.bad.append(Finding(name, f"has changed since it was published, after byte {one.offset}"))


def _check_log(check: WriterCheck, tail: LogTail, files: dict[int, str], held: bool) -> None:
    for number, name in files.items():
        inside = f"{LOG}/{name}"
        check.name(inside)
        try:
            with (check.place.folder / inside).open("rb") as file:
                start = file.read(FIRST_FRAME)
        except FileNotFoundError:
            continue  # closed and dropped meanwhile
        header = read_header(start)
        if header is not None and start != header.pack():
            check.wrong(inside, "has a damaged header, of which the other copy is whole")
        elif header is None and ((start.strip(b"\0") and len(start) == FIRST_FRAME) or number != max(files)):
            check.wrong(inside, "has no whole header: its frames cannot be read")
    for damage in tail.damage:
        inside, _, what = damage.partition(" ")
        check.wrong(inside, what)
    is_bad = any(found.file.startswith(f"{check.place.name}/{LOG}/") for found in check.bad)
    if (lost := check.lost(tail.missing)) and not is_bad:
        check.wrong(f"{LOG}/{next(iter(files.values()), '1.log')}", f"frames {lost} are missing")
    if tail.torn:
        check.notes.append(f"{check.place.name}/{LOG}: torn tail, {tail.torn} bytes of a frame cut short are left out")
    if files and check.ended and not is_bad:
        check.notes.append(f"{check.place.name}/{LOG}: of a closing under way or interrupted; segments hold all of it")
    elif files and not check.ended:
        how = f"held against {MANIFEST_FILE}" if held else "checked by CRC only: frames cut off its end would not show"
        check.notes.append(f"{check.place.name}/{LOG}: not closed yet, {tail.num_frames} frames, {how}")


def _is_of(fields: dict[str, Any], place: WriterPath) -> bool:
    return (fields.get("run"), fields.get("attempt"), fields.get("writer")) == (place.run, place.attempt, place.writer)
