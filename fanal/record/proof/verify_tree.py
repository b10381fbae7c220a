"""Checks the tree: its files, that its leaves are the record's segments in their order, and its root.

A withheld writer's leaves are in the tree and its segments are not here: the root holds them all the same.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fanal.record.files import DamagedError
from fanal.record.layout import BLOBS, MANIFEST_FILE
from fanal.record.proof.leaves import FILE_LEAVES, PARTIAL, TREE, Leaf, read_leaves
from fanal.record.proof.manifest import Manifest, TreeHead
from fanal.record.proof.tree import Peaks, root
from fanal.record.proof.verify_writer import Finding, WriterCheck

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class TreeCheck:
    """What was found of the tree."""

    bad: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    files: set[str] = field(default_factory=set[str])
    """Names inside the record that were checked."""

    @property
    def hashes(self) -> list[bytes]:
        """The leaves, for proofs."""
        return [bytes.fromhex(leaf.leaf) for leaf in self.leaves]


def check_tree(record: Path, manifest: Manifest | None, checks: Iterable[WriterCheck]) -> TreeCheck:
    """Hold the files of the tree against the manifest and the segments."""
    found = TreeCheck()
    if manifest is None or manifest.tree is None:
        return found
    head = manifest.tree
    found.files = {f"{TREE}/{index}" for index in range(-(-head.size // FILE_LEAVES))} | {f"{TREE}/{PARTIAL}"}
    try:
        found.leaves = read_leaves(record, head.size, head.partial)
    except DamagedError as error:
        found.bad.append(Finding(error.path.relative_to(record).as_posix(), error.what))
        return found
    by_name = {check.place.name: check for check in checks}
    _check_leaves(record, found, head, by_name)
    if not found.bad:
        _check_counts(record, found, manifest, by_name)
    if not found.bad:
        _check_root(record, found, head)
    return found


def _check_leaves(record: Path, found: TreeCheck, head: TreeHead, checks: dict[str, WriterCheck]) -> None:
    numbers: Counter[str] = Counter()
    for index, leaf in enumerate(found.leaves):
        if not _can_be_one(leaf):
            what = f"leaf {index} has changed since it was written: it is no SHA-256 of a writer's segment"
            found.bad.append(Finding(_file_of(record, head, index), what))
            return
        check = checks.get(leaf.writer)
        numbers[leaf.writer] += 1
        if check is None or leaf.segment != numbers[leaf.writer]:
            what = f"leaf {index} is of segment {leaf.segment} of {leaf.writer}, which does not come here"
        elif check.withheld is not None or check.leaves.get(leaf.segment, leaf.leaf) == leaf.leaf:
            continue
        else:
            what = f"leaf {index} is not that of segment {leaf.segment} of {leaf.writer}"
        found.bad.append(Finding(_file_of(record, head, index), what))
        return


def _can_be_one(leaf: Leaf) -> bool:
    """Whether its fields are what they should be: the line may come from anywhere."""
    is_text = all(type(text) is str for text in (leaf.leaf, leaf.writer))
    return is_text and _SHA256.fullmatch(leaf.leaf) is not None


def _check_counts(record: Path, found: TreeCheck, manifest: Manifest, checks: dict[str, WriterCheck]) -> None:
    """Each writer has as many leaves as its entry says; later segments are whole and not committed yet."""
    assert manifest.tree is not None, "only called where there is a tree"
    numbers = Counter(leaf.writer for leaf in found.leaves)
    for entry in manifest.entries:
        if numbers.pop(entry.name, 0) != entry.segments:
            last = _file_of(record, manifest.tree, max(len(found.leaves) - 1, 0))
            found.bad.append(Finding(last, f"the tree has not each of the {entry.segments} segments of {entry.name}"))
            return
        ahead = checks[entry.name].segments - entry.segments if entry.name in checks else 0
        if ahead > 0:
            found.notes.append(f"{entry.name}: {ahead} segments came after the manifest: uncommitted")
    if numbers:
        name = next(iter(numbers))
        found.bad.append(Finding(_file_of(record, manifest.tree, 0), f"{MANIFEST_FILE} does not name {name}"))


def _check_root(record: Path, found: TreeCheck, head: TreeHead) -> None:
    hashes = found.hashes
    peaks = Peaks()
    for leaf in hashes:
        peaks.append(leaf)
    if root(hashes).hex() == head.root and tuple(peak.hex() for peak in peaks.hashes) == head.peaks:
        return
    name = _file_of(record, head, max(head.size - 1, 0))
    found.bad.append(Finding(name, f"the leaves up to here are whole, and not in the order of {MANIFEST_FILE}'s root"))


def _file_of(record: Path, head: TreeHead, index: int) -> str:
    """The file that holds a leaf."""
    name = f"{TREE}/{index // FILE_LEAVES}"
    if (record / name).exists():
        return name
    return f"{BLOBS}/{head.partial}" if head.partial else f"{TREE}/{PARTIAL}"
