"""`fanal verify`: whether every file of a record is, byte for byte, what was written, who signed it, what came before.

0 whole (unsigned said so), 1 altered or incomplete with the first bad file named, 3 only a valid signature by another
key than the one remembered or given; what is no record raises. Reads every byte once on all cores, and again before it
says that one is wrong: a record being written verifies at any moment. It proves that nothing changed since it was
written, not that a logged number is true.
"""

from dataclasses import dataclass, field
from pathlib import Path

from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.files import DamagedError, read_document, sha256
from fanal.record.layout import LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, WriterPath, numbered
from fanal.record.owner import is_alive
from fanal.record.proof.entries import TailSlice
from fanal.record.proof.journal_facts import JOURNAL, redactions
from fanal.record.proof.manifest import Manifest, read_manifest
from fanal.record.proof.sealed import ForecastCheck, Witness, check_forecasts, witnesses_of
from fanal.record.proof.verify_blobs import BlobsCheck, check_blobs
from fanal.record.proof.verify_deep import check_values
from fanal.record.proof.verify_files import all_files, blob_names, hash_files, named_blobs, strangers
from fanal.record.proof.verify_report import VerifyReport, Withheld
from fanal.record.proof.verify_root import (
    RootCheck,
    Since,
    check_root,
    check_since,
    keep_key,
    read_since,
    read_wanted_key,
)
from fanal.record.proof.verify_tree import TreeCheck, check_tree
from fanal.record.proof.verify_writer import Against, Finding, WriterCheck, check_writer
from fanal.record.segments.tail import READ_ERRORS

UNSEEN_END = "an end cut off together with its manifest would not show: `--since` a root seen earlier would tell"


@dataclass(frozen=True)
class Asked:
    """What a verification is held against beside the record itself."""

    key: str | None
    since: Since | None
    deep: bool


@dataclass
class _Look:
    """One reading of everything."""

    record: Path
    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    manifest: Manifest | None = None
    checks: list[WriterCheck] = field(default_factory=list[WriterCheck])
    tree: TreeCheck = field(default_factory=TreeCheck)
    blobs: BlobsCheck = field(default_factory=BlobsCheck)
    root: RootCheck = field(default_factory=RootCheck)
    witnesses: list[Witness] = field(default_factory=list[Witness])


def verify(path: str | Path, key: str | None = None, since: str | None = None, deep: bool = False) -> VerifyReport:
    """Hold every file of a record against what was written.

    `key` is the public key, in base64 or as C2SP writes it, or a file with it; `since` a root seen earlier, in
    hexadecimal, or a file with its note; `deep` recomputes tiles and counts from the values.

    Raises:
        RecordError: `path` is no record, or one of a newer format; or `key` or `since` is none or another record's.
    """
    record = _find(Path(path))
    asked = Asked(read_wanted_key(key) if key else None, read_since(since) if since else None, deep)
    report = _look(record, asked)
    # A writer commits before its first frame, so one that began after the manifest was read is named by the next.
    return report if not report.bad else _look(record, asked)


def _look(record: Path, asked: Asked) -> VerifyReport:
    look = _Look(record)
    _read_files(look)
    if asked.deep and not look.bad:
        deep = check_values(check.place for check in look.checks if check.withheld is None)
        look.bad += deep.bad
        look.notes.append(deep.words)
    if not look.bad:
        _read_above(look, asked)
    return _report(look)


def _read_files(look: _Look) -> None:
    """Every file; their names before the writers before the manifest, so that each knows what came before."""
    record = look.record
    look.names = sorted(all_files(record))
    places = {(w.run, w.attempt, w.writer): w for w in layout.all_writers(record)}
    _check_top(look)
    _check_writers(look, places)
    hashes = hash_files(record, look.checks, look.names)
    if look.manifest is None and not look.bad and any(check.segments for check in look.checks):
        look.bad.append(Finding(MANIFEST_FILE, "is missing"))
    look.bad += [finding for check in look.checks for finding in check.bad]
    look.tree = check_tree(record, look.manifest, look.checks)
    look.bad += look.tree.bad
    reasons = redactions(record)
    look.blobs = check_blobs(hashes, named_blobs(look.checks), blob_names(record, look.manifest), reasons)
    look.bad += look.blobs.bad
    covered = {RECORD_FILE, MANIFEST_FILE, *look.tree.files}.union(*(check.files for check in look.checks))
    strange, notes = strangers(record, [name for name in look.names if name not in covered], look.checks)
    look.bad += strange
    if look.manifest is None and not look.bad:
        notes.append(f"no {MANIFEST_FILE} yet: nothing of this record is committed")
    look.notes += [*notes, *look.tree.notes, *look.blobs.notes, *(note for c in look.checks for note in c.notes)]


def _read_above(look: _Look, asked: Asked) -> None:
    """What stands above the files: the note and its key, anchored roots, a root seen earlier."""
    hashes = look.tree.hashes
    look.root = check_root(look.record, look.manifest, hashes, asked.key)
    look.bad += look.root.bad
    look.witnesses = witnesses_of(look.record)
    look.bad += [Finding(MANIFEST_FILE, what) for one in look.witnesses if (what := one.wrong(hashes)) is not None]
    if asked.since is None:
        look.notes.append(UNSEEN_END)
    else:
        found = check_since(look.manifest, hashes, asked.since)
        if isinstance(found, str):
            look.bad.append(Finding(MANIFEST_FILE, found))
        else:
            look.notes.append(f"{MANIFEST_FILE} {found.words}")
            look.witnesses.append(Witness(found.size, asked.since.root.hex(), "seen earlier"))
    if look.manifest is not None and not look.bad and look.root.refused is None:
        keep_key(look.manifest, look.root)
    look.notes += look.root.notes


def _forecasts(look: _Look) -> tuple[ForecastCheck, ...]:
    """The forecasts of a whole record; where it is forged so that it cannot be read, the reason is the finding."""
    try:
        return check_forecasts(look.record, look.tree.leaves, look.witnesses)
    except (RecordError, *READ_ERRORS) as error:
        look.bad.append(Finding(MANIFEST_FILE, f"names files that are whole and cannot be read: {error!r}"))
        return ()


def _report(look: _Look) -> VerifyReport:
    forecasts = () if look.bad else _forecasts(look)
    if look.bad:
        look.notes.append("forecasts were not checked, since the record is not whole")
    head = look.manifest.tree if look.manifest else None
    return VerifyReport(
        path=str(look.record),
        bad=tuple(look.bad),
        notes=tuple(look.notes),
        forecasts=forecasts,
        counts=_counts(look),
        withheld=tuple(Withheld(c.place.name, c.withheld) for c in look.checks if c.withheld is not None),
        redacted=tuple(sorted(look.blobs.redacted.items())),
        size=head.size if head else None,
        root=head.root if head else None,
        key=look.root.key,
        signed_segments=look.root.covers,
        refused=look.root.refused,
    )


def _check_top(look: _Look) -> None:
    """`record.json` and the manifest with its pages."""
    record = look.record
    try:
        header = read_document(record / RECORD_FILE)
        if header.get("format") != layout.FORMAT:
            layout.read_header(record)
    except FileNotFoundError:
        look.bad.append(Finding(RECORD_FILE, "is missing"))
    except DamagedError as error:
        look.bad.append(Finding(RECORD_FILE, error.what))
    try:
        look.manifest = read_manifest(record)
    except DamagedError as error:
        look.bad.append(Finding(error.path.relative_to(record).as_posix(), error.what))
    if look.manifest and not look.bad and look.manifest.record_sha256 != sha256((record / RECORD_FILE).read_bytes()):
        look.bad.append(Finding(RECORD_FILE, f"is not the one that {MANIFEST_FILE} names"))


def _check_writers(look: _Look, places: dict[tuple[str, int, str], WriterPath]) -> None:
    """Every writer that has a folder or an entry; one that has none yet is uncommitted, not wrong.

    So is one at work, and one that joined an attempt which the manifest leaves open: its process may be killed before
    the manifest is written again.
    """
    manifest = look.manifest
    entries = {entry.key: entry for entry in manifest.entries} if manifest else {}
    slices: dict[tuple[str, int, str], list[TailSlice]] | None = None
    if manifest is not None and manifest.tails is not None:
        slices = {}
        for one in manifest.tails:
            slices.setdefault(one.key, []).append(one)
    going_on = {(entry.run, entry.attempt) for entry in entries.values() if entry.open}
    for key in sorted(places.keys() | entries.keys()):
        place, entry = places.get(key) or WriterPath(look.record, *key), entries.get(key)
        has_closed = entry is not None and entry.segments > 0
        joins = ((place.run, place.attempt) in going_on and not has_closed) or _is_at_work(place)
        begins = manifest is not None and entry is None and joins
        of_logs = None if slices is None else slices.get(key, [])
        check = check_writer(place, Against(entry, manifest is not None and not begins, of_logs, joins))
        if begins:
            check.notes.append(f"{place.name}: is beginning, {MANIFEST_FILE} does not name it yet: uncommitted")
        look.checks.append(check)


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


def _counts(look: _Look) -> dict[str, int]:
    """What there is; the run of facts about the record itself counts as a writer and as no run."""
    places = [check.place for check in look.checks]
    return {
        "runs": len({place.run for place in places} - {JOURNAL}),
        "attempts": len({(place.run, place.attempt) for place in places if place.run != JOURNAL}),
        "writers": len(places),
        "segments": sum(check.segments for check in look.checks),
        "files": len(look.names),
        "bytes": sum(_size(look.record / name) for name in look.names),
    }


def _size(path: Path) -> int:
    """Bytes of a file; none where it went away since it was listed, as temporary ones do."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
