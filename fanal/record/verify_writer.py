"""Checks one writer: its owner file, its chain of segments, every file they name, and what its log still holds."""

from dataclasses import dataclass, field
from typing import Any

from fanal.record.files import DamagedError, read_document, sha256, unseal
from fanal.record.layout import LOG, MANIFEST_FILE, OWNER_FILE, SEGMENTS, WriterPath, numbered
from fanal.record.log import FIRST_FRAME, read_header
from fanal.record.manifest import Entry
from fanal.record.tail import LogTail


@dataclass(frozen=True)
class Finding:
    """A file that is not as it should be."""

    file: str
    """Its name inside the record."""
    what: str


@dataclass
class WriterCheck:
    """What was found of one writer."""

    place: WriterPath
    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    files: set[str] = field(default_factory=set[str])
    """Names inside the record that were checked."""
    segments: int = 0

    def name(self, inside: str) -> str:
        """A file's name inside the record; it counts as checked."""
        name = f"{self.place.name}/{inside}"
        self.files.add(name)
        return name

    def wrong(self, inside: str, what: str) -> None:
        """A file is not as it should be."""
        self.bad.append(Finding(self.name(inside), what))


def check_writer(place: WriterPath, entry: Entry | None, has_manifest: bool) -> WriterCheck:
    """Hold a writer's files against the manifest's entry and against each other."""
    check = WriterCheck(place)
    _check_owner(check, entry)
    tail = LogTail(place.folder)
    tail.refresh()  # before the segments: what is being closed meanwhile is then seen at least once
    files = {number: f"{number}.log" for number in numbered(place.folder / LOG, ".log")}
    covered, final = _check_chain(check, entry)
    tail.forget(covered)
    _check_log(check, tail, files)
    had_log = check.segments > 0 or (entry is not None and entry.open)
    if had_log and not final and not files and not check.bad:
        check.wrong(f"{LOG}/1.log", "is missing: no segment says that it was the last")
    if has_manifest and entry is None and (tail.num_frames or check.segments):
        check.wrong(OWNER_FILE, f"is of a writer that {MANIFEST_FILE} does not name")
    return check


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


def _check_chain(check: WriterCheck, entry: Entry | None) -> tuple[int, bool]:
    """The chain of segments from the first on; the last sequence number they cover, and whether nothing came after."""
    folder = check.place.folder / SEGMENTS
    named = entry.segments if entry else 0
    last = max(numbered(folder, ".json"), default=0)
    prev, covered, final = None, 0, False
    for number in range(1, max(last, named) + 1):
        inside = f"{SEGMENTS}/{number}.json"
        check.segments = number
        try:
            data = (folder / f"{number}.json").read_bytes()
        except FileNotFoundError:
            check.wrong(inside, "is missing")
            _cover_unreadable(check, number)
            continue
        fields = unseal(data)
        if isinstance(fields, str):
            check.wrong(inside, fields)
            _cover_unreadable(check, number)
            continue
        check.name(inside)
        if what := _wrong_link(check, fields, number, prev, covered):
            check.wrong(inside, what)
        if entry is not None and number == named and sha256(data) != entry.last_sha256:
            check.wrong(inside, f"is not the one that {MANIFEST_FILE} names")
        _check_files(check, fields)
        prev, covered, final = sha256(data), fields["last_sequence"], fields["final"]
    return covered, final


def _wrong_link(check: WriterCheck, fields: dict[str, Any], number: int, prev: str | None, covered: int) -> str | None:
    if not _is_of(fields, check.place) or fields["number"] != number:
        return "is another segment's"
    if not check.bad and (fields["prev"] != prev or fields["first_sequence"] != covered + 1):
        return "does not continue the segment before it"
    if fields["missing"]:
        gaps = ", ".join(f"{first} to {last}" for first, last in fields["missing"])
        return f"says that frames {gaps} were damaged or lost before it was closed"
    return None


def _check_files(check: WriterCheck, fields: dict[str, Any]) -> None:
    for file in fields["files"]:
        inside = f"{SEGMENTS}/{file['name']}"
        check.name(inside)
        try:
            data = (check.place.folder / inside).read_bytes()
        except FileNotFoundError:
            check.wrong(inside, "is missing")
            continue
        if len(data) != file["bytes"]:
            check.wrong(inside, f"has {len(data)} bytes, and had {file['bytes']} when it was closed")
        elif sha256(data) != file["sha256"]:
            check.wrong(inside, "has changed since it was closed")


def _cover_unreadable(check: WriterCheck, number: int) -> None:
    """Files of a segment whose manifest cannot be read are not strangers."""
    for path in (check.place.folder / SEGMENTS).glob(f"{number}.*"):
        check.name(f"{SEGMENTS}/{path.name}")


def _check_log(check: WriterCheck, tail: LogTail, files: dict[int, str]) -> None:
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
    for first, last in tail.missing:
        inside = f"{LOG}/{next(iter(files.values()), '1.log')}"
        if not any(finding.file.startswith(f"{check.place.name}/{LOG}/") for finding in check.bad):
            check.wrong(inside, f"frames {first} to {last} are missing")
    if tail.torn:
        check.notes.append(f"{check.place.name}/{LOG}: torn tail, {tail.torn} bytes of a frame cut short are left out")
    if files:
        check.notes.append(f"{check.place.name}/{LOG}: not closed yet, {tail.num_frames} frames, checked by CRC only")


def _is_of(fields: dict[str, Any], place: WriterPath) -> bool:
    return (fields.get("run"), fields.get("attempt"), fields.get("writer")) == (place.run, place.attempt, place.writer)
