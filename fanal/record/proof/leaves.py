"""The files of a record's tree: which segment is which leaf, in the order in which the record received them.

`tree/<i>` holds leaves 256·i to 256·i + 255, one canonical JSON line `{"leaf", "segment", "writer"}` each, and does not
change once the manifest counts them all; the leaves after the last whole file stand in `tree/partial`. Files are
written before the manifest that counts their lines: lines beyond its size were cut off by a crash and mean nothing.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fanal.record.files import DamagedError, canonical, sync_folder, unseal, write_whole
from fanal.record.layout import BLOBS, RUN_ID, RUNS, SEGMENTS, WriterPath
from fanal.record.proof.tree import leaf_hash

TREE = "tree"
PARTIAL = "partial"
FILE_LEAVES = 256


@dataclass(frozen=True)
class Leaf:
    """One segment in the tree."""

    leaf: str
    """SHA-256(0x00 ‖ bytes of the segment's manifest), hexadecimal."""
    segment: int
    writer: str
    """The writer's folder inside the record."""


def leaf_of(place: WriterPath, number: int) -> Leaf | None:
    """The leaf of a closed segment; None where its manifest is missing or has changed."""
    try:
        data = (place.folder / SEGMENTS / f"{number}.json").read_bytes()
    except FileNotFoundError:
        return None
    if isinstance(unseal(data), str):
        return None
    return Leaf(leaf_hash(data).hex(), number, place.name)


def write_leaves(record: Path, size: int, new: Sequence[Leaf]) -> None:
    """Put `new` behind the first `size` leaves."""
    if not new:
        return
    if not (record / TREE).is_dir():
        (record / TREE).mkdir(exist_ok=True)
        sync_folder(record)
    first = size // FILE_LEAVES
    lines = [*_read_file(record, first, size % FILE_LEAVES, None), *new]
    for start in range(0, len(lines), FILE_LEAVES):
        part = lines[start : start + FILE_LEAVES]
        name = str(first + start // FILE_LEAVES) if len(part) == FILE_LEAVES else PARTIAL
        write_whole(record / TREE / name, lines_of(part))
    if len(lines) % FILE_LEAVES == 0:
        (record / TREE / PARTIAL).unlink(missing_ok=True)


def lines_of(leaves: Iterable[Leaf]) -> bytes:
    """Leaves as a file holds them."""
    return b"".join(canonical(asdict(leaf)) for leaf in leaves)


def read_leaves(record: Path, size: int, partial: str | None = None) -> list[Leaf]:
    """The first `size` leaves; `partial` names the blob that holds the last ones in a published copy.

    Raises:
        DamagedError: a file is missing, has changed or holds too few; names it.
    """
    found: list[Leaf] = []
    for index in range(-(-size // FILE_LEAVES)):
        found += _read_file(record, index, min(size - len(found), FILE_LEAVES), partial)
    return found


def last_leaves(record: Path, size: int) -> list[Leaf]:
    """The leaves after the last whole file."""
    return _read_file(record, size // FILE_LEAVES, size % FILE_LEAVES, None)


def whole_leaves(record: Path) -> list[Leaf]:
    """The leaves of a tree whose manifest is lost, as far as they are those of the record's segments."""
    found: list[Leaf] = []
    numbers: Counter[str] = Counter()
    files = itertools.takewhile(Path.is_file, (record / TREE / str(index) for index in itertools.count()))
    for path in (*files, record / TREE / PARTIAL):
        for leaf in map(_leaf_on, (_bytes_of(path) or b"").splitlines(keepends=True)):
            if leaf is None or leaf.segment != numbers[leaf.writer] + 1 or not _is_of_segment(record, leaf):
                return found
            numbers[leaf.writer] += 1
            found.append(leaf)
    return found


def _is_of_segment(record: Path, leaf: Leaf) -> bool:
    place = place_of(record, leaf.writer)
    return place is not None and leaf_of(place, leaf.segment) == leaf


def place_of(record: Path, name: str) -> WriterPath | None:
    """The writer whose folder inside the record has that name; None where it is no writer's."""
    parts = name.split("/")
    if len(parts) != 4 or parts[0] != RUNS or not RUN_ID.fullmatch(parts[1]) or not parts[2].isdecimal():
        return None
    return WriterPath(record, parts[1], int(parts[2]), parts[3])


def _read_file(record: Path, index: int, num: int, partial: str | None) -> list[Leaf]:
    """The first `num` leaves of a file, whole or partial.

    The partial one is read first: once the whole one is there, it may hold the leaves that follow.
    """
    if num == 0:
        return []
    whole, rest = record / TREE / str(index), record / TREE / PARTIAL
    if partial is not None and num < FILE_LEAVES:
        whole = record / BLOBS / partial
    for_now = _bytes_of(rest)
    data = _bytes_of(whole)
    path = rest if data is None and num < FILE_LEAVES and partial is None else whole
    data = for_now if data is None and path is rest else data
    if data is None:
        raise DamagedError(path, "is missing: it holds leaves of the record's tree")
    lines = data.splitlines(keepends=True)[:num]
    leaves = [leaf for line in lines if (leaf := _leaf_on(line)) is not None]
    if len(leaves) < num:
        raise DamagedError(path, "has changed since it was written: a leaf of the tree cannot be read")
    return leaves


def _leaf_on(line: bytes) -> Leaf | None:
    try:
        leaf = Leaf(**json.loads(line))
        return leaf if canonical(asdict(leaf)) == line else None
    except (ValueError, TypeError):
        return None


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
