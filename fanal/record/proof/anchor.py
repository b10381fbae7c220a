"""`fanal anchor`: writes the record's signed root into a git repository, which others keep, and says so in the record.

Whoever has the repository can later show that the record had this root by then: `fanal verify --since FILE`. One file a
root, `fanal-<record>/<segments>.note`; none for a root that only anchors came after. Git is run as it is installed and
configured; nothing is pushed unless asked.
"""

import shutil
import subprocess
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.record.attempt import journal
from fanal.record.files import DamagedError, write_whole
from fanal.record.layout import find_record
from fanal.record.proof import keys
from fanal.record.proof.checkpoint import Checkpoint, read_note
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.leaves import read_leaves
from fanal.record.proof.manifest import Manifest, read_manifest


@dataclass(frozen=True)
class AnchorReport:
    """Where a root was written down."""

    record: str
    file: str
    """In the repository."""
    commit: str
    """The git commit that holds it."""
    size: int
    root: str
    signed: bool
    pushed: bool
    was_there: bool = False
    """It was anchored before, and nothing but anchors came into the record since."""
    exit_code: int = 0

    @property
    def words(self) -> str:
        """The report for people."""
        signed = "signed" if self.signed else "unsigned"
        pushed = "pushed" if self.pushed else "not pushed"
        done = "anchored already: " if self.was_there else ""
        return (
            f"{self.record}: {done}{signed} root of {self.size} segments {self.root}\n"
            f"in {self.file}, git commit {self.commit}, {pushed}"
        )

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return asdict(self) | {"words": self.words}


def anchor(path: str | Path, git: str | Path, push: bool = False) -> AnchorReport:
    """Write the root of all that is closed into the git repository `git` and commit it there.

    Raises:
        RecordError: no such record or repository, nothing is closed yet, or git refuses.
    """
    record, folder = find_record(Path(path)), Path(git)
    _check_repository(folder)
    keys.commit(record)
    known = read_manifest(record)
    if known is None or known.tree is None or known.tree.size == 0:
        raise RecordError(f"{record} has no closed segment yet, and so no root to anchor: call again after one closed")
    notes = folder / f"fanal-{known.origin.rpartition('/')[2]}"
    if (report := _anchored(record, known, notes)) is not None:
        if push:
            _git(folder, "push", "--quiet")
        return replace(report, pushed=push)
    file = notes / f"{known.tree.size}.note"
    file.parent.mkdir(exist_ok=True)
    text, signed = _note(known)
    commit = _committed(folder, file, text, f"Root of {known.origin}: {known.tree.size} segments")
    where = f"git commit {commit}"
    if not any(fact.fields["where"] == where for fact in journal_facts(record, "anchor")):
        with journal(record) as run:
            run.event("anchor", root=known.tree.root, size=known.tree.size, where=where)
    if push:
        _git(folder, "push", "--quiet")
    return AnchorReport(str(record), str(file), commit, known.tree.size, known.tree.root, signed, push)


def _check_repository(folder: Path) -> None:
    try:
        inside = _git(folder, "rev-parse", "--is-inside-work-tree")
    except RecordError as error:
        if shutil.which("git") is None:
            raise
        what = f"{folder} is no git repository to anchor in: `git init {folder}` makes one ({error})"
        raise RecordError(what) from error
    if inside != "true":
        raise RecordError(f"{folder} is no work tree of a git repository: give a clone that has its files")


def _anchored(record: Path, known: Manifest, notes: Path) -> AnchorReport | None:
    """The newest anchor in this repository, where nothing but anchors came into the record since."""
    assert known.tree is not None, "only called where there is a tree"
    facts = journal_facts(record, "anchor")
    of_anchors = {(fact.writer, fact.segment) for fact in facts}
    try:
        leaves = read_leaves(record, known.tree.size)
    except DamagedError as error:
        raise RecordError(f"{error}: run `fanal verify`, then restore the file from a copy") from error
    for fact in reversed(facts):
        size, file = fact.fields["size"], notes / f"{fact.fields['size']}.note"
        if not 0 < size <= len(leaves) or any((one.writer, one.segment) not in of_anchors for one in leaves[size:]):
            return None
        if not file.exists() or _git(notes, "status", "--porcelain", "--", file.name):
            continue
        note = read_note(file.read_text("utf-8"))
        commit = _git(notes, "log", "-1", "--format=%H", "--", file.name)
        is_this = (note.checkpoint.root.hex(), f"git commit {commit}") == (fact.fields["root"], fact.fields["where"])
        if is_this and (note.signatures or not known.is_signed):
            told = (str(record), str(file), commit, size, fact.fields["root"], bool(note.signatures))
            return AnchorReport(*told, pushed=False, was_there=True)
    return None


def _note(known: Manifest) -> tuple[str, bool]:
    """The signed note, or the checkpoint alone where none covers the manifest; and which of the two."""
    assert known.tree is not None, "only called where there is a tree"
    if known.is_signed and known.note is not None:
        return known.note, True
    root = bytes.fromhex(known.tree.root)
    return Checkpoint(known.origin, known.tree.size, root, known.body_sha256).text, False


def _committed(folder: Path, file: Path, text: str, message: str) -> str:
    """The commit that holds the file with this text; a new one where there is none."""
    inside = str(file.relative_to(folder))
    if not file.exists() or file.read_text("utf-8") != text:
        write_whole(file, text.encode())
    if _git(folder, "status", "--porcelain", "--", inside):
        _git(folder, "add", "--", inside)
        _git(folder, "commit", "--quiet", "-m", message, "--", inside)
    return _git(folder, "log", "-1", "--format=%H", "--", inside)


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RecordError("git is not installed: `fanal anchor` needs it") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
        raise RecordError(f"git {arguments[0]} in {folder} failed: {lines[-1]}")
    return done.stdout.strip()
