"""`manifest.json`: the one file that changes, and what makes every other file of the record provable.

It names `record.json`, every owner file and every writer's last segment by SHA-256, holds the root of the tree over
all segments and, where a key is at hand, the signed note over all of it. At most 10 KB: long lists stand on pages under
`blobs/`. `commit` is the one sequencer: it appends under a lock what was closed, at the cost of what changed, and
replaces the file whole. A process without the key leaves the last note, which then covers what came before.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import fanal
from fanal.record import layout
from fanal.record.files import (
    DamagedError,
    canonical,
    make_folder,
    read_document,
    seal,
    sha256,
    unseal,
    write_whole,
)
from fanal.record.layout import BLOBS, LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, SEGMENTS, WriterPath, numbered
from fanal.record.lock import held
from fanal.record.proof.checkpoint import Checkpoint, Signer, origin_of, read_note
from fanal.record.proof.entries import (
    Blobs,
    Entry,
    Key,
    Page,
    TailSlice,
    add_page,
    read_pages,
    read_tails,
    tail_pages,
)
from fanal.record.proof.leaves import Leaf, last_leaves, leaf_of, lines_of, whole_leaves, write_leaves
from fanal.record.proof.tree import Peaks

MAX_BYTES = 10_000
NOTE_BYTES = 512
"""Room kept for the note."""
LOCK = "commit"


@dataclass(frozen=True)
class TreeHead:
    """The tree as the manifest holds it."""

    size: int
    """Segments in it."""
    root: str
    peaks: tuple[str, ...]
    """Roots of its largest whole subtrees, from left to right: what appending needs."""
    partial: str | None = None
    """In a published copy, the blob with the leaves after the last whole file of 256."""


@dataclass(frozen=True)
class Manifest:
    """The manifest's content, pages included."""

    record_sha256: str
    entries: tuple[Entry, ...]
    pages: tuple[str, ...]
    """SHA-256 of each page, oldest first."""
    paged: frozenset[Key]
    """The writers whose entry stands on a page."""
    page_entries: tuple[Page, ...]
    tree: TreeHead | None
    """None in records of a version that had none."""
    public_key: str | None
    """Ed25519, base64: the key of `note`."""
    note: str | None
    """The newest signed note; it may be of an earlier manifest."""
    body_sha256: str
    """Of the manifest without `note`: what a note that covers all of it names."""
    tails: tuple[TailSlice, ...] | None
    """Slices of logs; None where this is no published manifest."""
    tail_pages: tuple[str, ...]

    @property
    def origin(self) -> str:
        """The first line of the record's notes."""
        return origin_of(self.record_sha256)

    @property
    def is_signed(self) -> bool:
        """Whether the note names this very manifest; the signature is not checked here."""
        try:
            return self.note is not None and read_note(self.note).checkpoint.manifest == self.body_sha256
        except ValueError:
            return False


@dataclass(frozen=True)
class Published:
    """A published record's manifest, and the blobs that it names and the record itself does not hold."""

    data: bytes
    """`manifest.json`; uploaded last."""
    blobs: Blobs
    """`blobs/<name>`; uploaded before."""


def read_manifest(record: Path) -> Manifest | None:
    """The manifest and its pages, or None where there is none yet.

    Raises:
        DamagedError: it or one of its pages has changed or is missing; names the file.
    """
    try:
        fields = read_document(record / MANIFEST_FILE)
    except FileNotFoundError:
        return None
    return _manifest_of(record, fields)


def manifest_of(record: Path, data: bytes) -> Manifest:
    """The manifest in `data`, whose pages lie in `record`.

    Raises:
        DamagedError: it or one of its pages has changed or is missing; names the file.
    """
    fields = unseal(data)
    if isinstance(fields, str):
        raise DamagedError(record / MANIFEST_FILE, fields)
    return _manifest_of(record, fields)


def _manifest_of(record: Path, fields: dict[str, Any]) -> Manifest:
    try:
        return _decoded(record, fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = "is whole and says what no manifest of this version says"
        raise DamagedError(record / MANIFEST_FILE, f"{what}: {error!r}") from error


def _decoded(record: Path, fields: dict[str, Any]) -> Manifest:
    pages = tuple(read_pages(record, fields["pages"]))
    paged = {entry.key: entry for page in pages for entry in page.entries}
    inline = {entry.key: entry for entry in (Entry(**e) for e in fields["writers"])}
    tree, tails, names = fields.get("tree"), fields.get("tails"), fields.get("tail_pages", ())
    body = {name: value for name, value in fields.items() if name != "note"}
    return Manifest(
        record_sha256=fields["record_sha256"],
        entries=tuple((paged | inline).values()),
        pages=tuple(fields["pages"]),
        paged=frozenset(paged.keys() - inline.keys()),
        page_entries=pages,
        tree=None if tree is None else TreeHead(**{**tree, "peaks": tuple(tree["peaks"])}),
        public_key=fields.get("public_key"),
        note=fields.get("note"),
        body_sha256=sha256(canonical(body)),
        tails=None if tails is None else read_tails(record, tails, names),
        tail_pages=tuple(names),
    )


def commit(record: Path, changed: Iterable[WriterPath] | None = None, signer: Signer | None = None) -> None:
    """Put into the manifest what the writers in `changed`, and those it knows to be open, have closed since.

    Without `changed`, what any writer of the record has. Nothing is written where nothing is new.

    Raises:
        TimeoutError: another process holds the record's lock for too long.
    """
    with held(record, LOCK):
        known = _known(record)
        if known is None or known.tree is None:
            changed = None
        places = layout.all_writers(record) if changed is None else _at_work(record, known, changed)
        entries, leaves, peaks = _gather(known, sorted(places))
        if leaves:
            write_leaves(record, peaks.size - len(leaves) if peaks else 0, leaves)
        _write(record, known, entries, peaks, signer)


def _known(record: Path) -> Manifest | None:
    """The manifest that is there; a damaged one is put aside, where `verify` will name it."""
    path = record / MANIFEST_FILE
    try:
        return read_manifest(record)
    except DamagedError:
        if path.exists():
            path.rename(record / f"{MANIFEST_FILE}.damaged-{os.urandom(4).hex()}")
        return None


def _at_work(record: Path, known: Manifest | None, changed: Iterable[WriterPath]) -> set[WriterPath]:
    """The writers to look at: those named, and those that were open when the manifest was written."""
    assert known is not None, "without a manifest every writer is looked at"
    opened = {WriterPath(record, *entry.key) for entry in known.entries if entry.open}
    return opened | {replace(place, record=record) for place in changed}


def _gather(known: Manifest | None, places: Sequence[WriterPath]) -> tuple[list[Entry], list[Leaf], Peaks | None]:
    """Every entry, the leaves that are new and the tree with them; None for the tree where a segment is lost.

    Hashes that stood in the manifest are kept, never taken anew from the files.
    """
    entries = {entry.key: entry for entry in known.entries} if known else {}
    leaves: list[Leaf] = []
    peaks: Peaks | None = Peaks()
    if known and known.tree:
        peaks = Peaks(known.tree.size, map(bytes.fromhex, known.tree.peaks))
    elif places:
        leaves = _leaves_before(places[0].record, entries)
    held_by_tree = Counter(leaf.writer for leaf in leaves)
    if not (known and known.tree) and any(held_by_tree[e.name] < e.segments for e in entries.values()):
        peaks = None
    for place in places:
        old = entries.get((place.run, place.attempt, place.writer)) or _begun(place)
        if old is None:
            continue
        number = max(old.segments, held_by_tree[place.name])
        while (leaf := leaf_of(place, number + 1)) is not None:
            leaves.append(leaf)
            number += 1
        entries[old.key] = _moved_on(old, place, number)
    if peaks is None:
        return list(entries.values()), [], None
    for leaf in leaves:
        peaks.append(bytes.fromhex(leaf.leaf))
    return list(entries.values()), leaves, peaks


def _leaves_before(record: Path, entries: Mapping[Key, Entry]) -> list[Leaf]:
    """Leaves of segments that stand in no tree yet: in the order of an earlier tree whose manifest is lost, then so."""
    leaves = whole_leaves(record)
    held_by_tree = Counter(leaf.writer for leaf in leaves)
    for entry in entries.values():
        place = WriterPath(record, *entry.key)
        for number in range(held_by_tree[entry.name] + 1, entry.segments + 1):
            if (leaf := leaf_of(place, number)) is not None:
                leaves.append(leaf)
    return leaves


def _begun(place: WriterPath) -> Entry | None:
    """The entry of a writer that has none yet; None where its owner file is not there or damaged."""
    try:
        data = (place.folder / OWNER_FILE).read_bytes()
    except FileNotFoundError:
        return None
    fields = unseal(data)
    withheld = None if isinstance(fields, str) else fields.get("withheld")
    return Entry(place.run, place.attempt, place.writer, sha256(data), 0, None, False, withheld)


def _moved_on(old: Entry, place: WriterPath, segments: int) -> Entry:
    """The entry as of now."""
    is_open = bool(numbered(place.folder / LOG, ".log"))
    if segments == old.segments:
        return replace(old, open=is_open)
    last = sha256((place.folder / SEGMENTS / f"{segments}.json").read_bytes())
    return replace(old, segments=segments, last_sha256=last, open=is_open)


def _write(
    record: Path, known: Manifest | None, entries: list[Entry], peaks: Peaks | None, signer: Signer | None
) -> None:
    tree = None if peaks is None else _head(peaks)
    if signer and known and known.public_key not in (None, signer.after, signer.public_key):
        signer = None
    public_key = signer.public_key if signer and tree else known.public_key if known else None
    fixed = {
        "record_sha256": sha256((record / RECORD_FILE).read_bytes()),
        "public_key": public_key,
        "tree": tree,
    }
    fields, blobs = _render(known, entries, fixed)
    note = _note(known, fields, signer)
    if known and known.body_sha256 == sha256(canonical(fields)) and known.note == note:
        return
    if blobs and not (record / BLOBS).is_dir():
        with suppress(FileExistsError):
            make_folder(record / BLOBS)
    for name, page in blobs.items():
        write_whole(record / BLOBS / name, page)
    write_whole(record / MANIFEST_FILE, seal({**fields, "note": note}))


def _head(peaks: Peaks) -> dict[str, Any]:
    return {"size": peaks.size, "root": peaks.root().hex(), "peaks": [peak.hex() for peak in peaks.hashes]}


def _note(known: Manifest | None, fields: dict[str, Any], signer: Signer | None) -> str | None:
    """The note over these fields; without a signer the one that is there, of whichever manifest."""
    old, tree = known.note if known else None, fields["tree"]
    if signer is None or tree is None:
        return old
    body = sha256(canonical(fields))
    if known and known.is_signed and known.body_sha256 == body:
        return old
    root = bytes.fromhex(tree["root"])
    return signer.sign(Checkpoint(origin_of(fields["record_sha256"]), tree["size"], root, body))


def _render(known: Manifest | None, entries: list[Entry], fixed: Mapping[str, Any]) -> tuple[dict[str, Any], Blobs]:
    """The manifest's fields, at most `MAX_BYTES` with a note, and the new pages."""
    names = list(known.pages) if known else []
    pages = known.page_entries if known else ()
    paged = {entry.key: entry for page in pages for entry in page.entries}
    inline = [entry for entry in entries if paged.get(entry.key) != entry]
    fields = _fields(entries, names, inline, fixed)
    excess = _excess(fields)
    if excess <= 0:
        return fields, {}
    staying = [entry for entry in inline if entry.open]
    if _excess(_fields(entries, names, staying, fixed)) + MAX_BYTES // 2 > 0:
        staying = []
    names, blobs = add_page(names, pages, [entry for entry in inline if entry not in staying])
    return _fields(entries, names, staying, fixed), blobs


def _excess(fields: dict[str, Any]) -> int:
    """By how much the manifest would be too long."""
    return len(seal(fields)) + NOTE_BYTES - MAX_BYTES


def _fields(entries: list[Entry], pages: list[str], inline: list[Entry], fixed: Mapping[str, Any]) -> dict[str, Any]:
    counts = {
        "runs": len({entry.run for entry in entries}),
        "attempts": len({(entry.run, entry.attempt) for entry in entries}),
        "writers": len(entries),
        "segments": sum(entry.segments for entry in entries),
    }
    return {
        "format": layout.FORMAT,
        "kind": "manifest",
        "fanal": fanal.__version__,
        "counts": counts,
        "pages": pages,
        "writers": [entry.to_json() for entry in inline],
        **fixed,
    }


def published(record: Path, known: Manifest, tails: Sequence[TailSlice], signer: Signer | None = None) -> Published:
    """The manifest of a published copy of the record as `known` names it, with the slices of logs beside it.

    Without a signer the record's own note goes along, which covers its segments and not these slices.

    Raises:
        ValueError: the record's manifest is of a version without a tree: commit first.
    """
    if known.tree is None:
        raise ValueError(f"{record / MANIFEST_FILE} has no tree yet: commit the record before it is published")
    tree: dict[str, Any] = {name: value for name, value in asdict(known.tree).items() if name != "partial"}
    blobs: Blobs = {}
    if last := last_leaves(record, known.tree.size):
        data = lines_of(last)
        tree["partial"] = sha256(data)
        blobs[tree["partial"]] = data
    public_key = signer.public_key if signer else known.public_key
    fixed = {"record_sha256": known.record_sha256, "public_key": public_key, "tree": tree}
    entries = list(known.entries)
    listed = [asdict(tail) for tail in tails]
    fields, pages = _render(known, entries, {**fixed, "tails": listed, "tail_pages": []})
    if tails and (pages or _excess(fields) > 0):
        names, more = tail_pages(tails)
        blobs |= more
        fields, pages = _render(known, entries, {**fixed, "tails": [], "tail_pages": names})
    note = _note(known if signer is None else None, fields, signer)
    return Published(seal({**fields, "note": note}), blobs | pages)
