"""`fanal verify`: whether every file of a record is, byte for byte, what was written, and what precedes what.

0 whole (unsigned, and said so), 1 altered or incomplete with the first bad file named; what is no record raises. Reads
every byte once, and again before it says that one is wrong: a record being written verifies at any moment. It proves
that nothing changed since it was written, not that a logged number is true.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.files import TEMPORARY_PREFIX, DamagedError, read_document, sha256
from fanal.record.layout import BLOBS, LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, WriterPath, numbered
from fanal.record.manifest import Manifest, read_manifest
from fanal.record.owner import is_alive
from fanal.record.sealed import ForecastCheck, check_forecasts
from fanal.record.verify_writer import Finding, WriterCheck, check_writer

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class VerifyReport:
    """What a verification found."""

    path: str
    bad: tuple[Finding, ...]
    """Files that are altered, missing or no part of the record, the first one first."""
    notes: tuple[str, ...]
    """What is worth knowing and nothing wrong: torn tails, leftovers, open logs."""
    forecasts: tuple[ForecastCheck, ...]
    counts: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def ok(self) -> bool:
        """Whole, and every forecast where it claims to be."""
        return not self.bad and all(forecast.ok for forecast in self.forecasts)

    @property
    def exit_code(self) -> int:
        """0 whole, 1 not."""
        return 0 if self.ok else 1

    @property
    def first_bad(self) -> str | None:
        """The first bad file, inside the record."""
        return self.bad[0].file if self.bad else None

    @property
    def words(self) -> str:
        """The result for people, a line each."""
        lines = [_headline(self), *(f"{finding.file}: {finding.what}" for finding in self.bad)]
        return "\n".join([*lines, *(forecast.words for forecast in self.forecasts), *self.notes])

    def to_json(self) -> dict[str, Any]:
        """The result for programs."""
        return asdict(self) | {"ok": self.ok, "first_bad": self.first_bad, "signed": False, "words": self.words}


def verify(path: str | Path) -> VerifyReport:
    """Hold every file of a record against what was written.

    Raises:
        RecordError: `path` is no record, or one of a newer format.
    """
    record = _find(Path(path))
    report = _look(record)
    # A writer commits before its first frame, so one that began after the manifest was read is named by the next.
    return report if not report.bad else _look(record)


def _look(record: Path) -> VerifyReport:
    """One reading of everything; files before writers before the manifest, so that each knows what came before."""
    names = sorted(_walk(record))
    places = {(w.run, w.attempt, w.writer): w for w in layout.all_writers(record)}
    bad, manifest = _check_top(record)
    checks = _check_writers(record, places, manifest)
    if manifest is None and not bad and any(check.segments for check in checks):
        bad.append(Finding(MANIFEST_FILE, "is missing"))
    bad += [finding for check in checks for finding in check.bad]
    covered = {RECORD_FILE, MANIFEST_FILE}.union(*(check.files for check in checks))
    strangers, notes = _strangers(record, [name for name in names if name not in covered], checks)
    bad += strangers
    if manifest is None and not bad:
        notes.append(f"no {MANIFEST_FILE} yet: nothing of this record is committed")
    notes += [note for check in checks for note in check.notes]
    forecasts = () if bad else check_forecasts(record)
    if bad:
        notes.append("forecasts were not checked, since the record is not whole")
    return VerifyReport(str(record), tuple(bad), tuple(notes), forecasts, _counts(record, names, checks))


def _check_writers(
    record: Path, places: dict[tuple[str, int, str], WriterPath], manifest: Manifest | None
) -> list[WriterCheck]:
    """Every writer that has a folder or an entry; one at work that has no entry yet is uncommitted, not wrong."""
    entries = {entry.key: entry for entry in manifest.entries} if manifest else {}
    checks: list[WriterCheck] = []
    for key in sorted(places.keys() | entries.keys()):
        place, entry = places.get(key) or WriterPath(record, *key), entries.get(key)
        begins = manifest is not None and entry is None and _is_at_work(place)
        check = check_writer(place, entry, manifest is not None and not begins)
        if begins:
            check.notes.append(f"{place.name}: is beginning, {MANIFEST_FILE} does not name it yet: uncommitted")
        checks.append(check)
    return checks


def _is_at_work(place: WriterPath) -> bool:
    """Whether a living process has its log there; where the owner file cannot be read, `check_writer` says so."""
    try:
        return bool(numbered(place.folder / LOG, ".log")) and is_alive(read_document(place.folder / OWNER_FILE), place)
    except (DamagedError, FileNotFoundError):  # the second also where its log is dropped meanwhile
        return False


def _find(path: Path) -> Path:
    """A folder that is a record or was one: a missing file is for the answer to say."""
    for name in (RECORD_FILE, MANIFEST_FILE):  # a published site's own manifest lies above the record
        for folder in (path, path / "record"):
            if (folder / name).is_file():
                return folder
    raise RecordError(f"{path} is no record: neither it nor its folder `record` holds {RECORD_FILE}")


def _walk(record: Path) -> Iterator[str]:
    """Every file, and every link, inside the record."""
    for folder, folders, files in os.walk(record):
        inside = Path(folder).relative_to(record)
        yield from ((inside / name).as_posix() for name in files)
        yield from ((inside / name).as_posix() for name in folders if (Path(folder) / name).is_symlink())


def _check_top(record: Path) -> tuple[list[Finding], Manifest | None]:
    """`record.json` and the manifest with its pages."""
    bad: list[Finding] = []
    found = None
    try:
        header = read_document(record / RECORD_FILE)
        if header.get("format") != layout.FORMAT:
            layout.read_header(record)
    except FileNotFoundError:
        bad.append(Finding(RECORD_FILE, "is missing"))
    except DamagedError as error:
        bad.append(Finding(RECORD_FILE, error.what))
    try:
        found = read_manifest(record)
    except DamagedError as error:
        bad.append(Finding(error.path.relative_to(record).as_posix(), error.what))
    if found and not bad and found.record_sha256 != sha256((record / RECORD_FILE).read_bytes()):
        bad.append(Finding(RECORD_FILE, f"is not the one that {MANIFEST_FILE} names"))
    return bad, found


def _strangers(record: Path, names: list[str], checks: list[WriterCheck]) -> tuple[list[Finding], list[str]]:
    """What to say of files that nothing in the record names."""
    bad: list[Finding] = []
    notes: list[str] = []
    unfinished = {f"{check.place.name}/seg/{check.segments + 1}." for check in checks}
    for name in names:
        path = record / name
        base = name.rpartition("/")[2]
        if path.is_symlink():
            bad.append(Finding(name, "is a link, and no part of the record"))
        elif base.startswith(TEMPORARY_PREFIX):
            notes.append(f"{name}: left by a process that was interrupted while writing; no part of the record")
        elif any(name.startswith(start) for start in unfinished):
            notes.append(f"{name}: of a closing under way or interrupted; no part of the record yet")
        elif name.startswith(f"{BLOBS}/") and _SHA256.fullmatch(base) and name == f"{BLOBS}/{base}":
            if sha256(path.read_bytes()) != base:
                bad.append(Finding(name, "has changed since it was written"))
        elif path.exists():
            bad.append(Finding(name, "is no part of the record"))
    return bad, notes


def _counts(record: Path, names: list[str], checks: list[WriterCheck]) -> dict[str, int]:
    places = [check.place for check in checks]
    return {
        "runs": len({place.run for place in places}),
        "attempts": len({(place.run, place.attempt) for place in places}),
        "writers": len(places),
        "segments": sum(check.segments for check in checks),
        "files": len(names),
        "bytes": sum((record / name).lstat().st_size for name in names if os.path.lexists(record / name)),
    }


def _headline(report: VerifyReport) -> str:
    counts = report.counts
    plural = "" if counts["runs"] == 1 else "s"
    size = f"{counts['runs']} run{plural}, {counts['files']} files, {counts['bytes']:,} bytes"
    if report.bad:
        return f"{report.path}: not whole, {len(report.bad)} of its files altered, missing or strange; {size}"
    if not report.ok:
        return f"{report.path}: whole, unsigned, but a forecast is not what it claims; {size}"
    return f"{report.path}: whole, unsigned; {size}"
