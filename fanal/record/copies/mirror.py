"""A verified copy of a published record, brought up to date in rounds: every file checked before it enters the copy.

First the manifest, its pages and the tree are read outside of the copy, and held against the root, the key and what
the copy holds: until then no byte of the copy changes. Then children first, the manifest last: at every instruction
the copy reads as what was logged, each thing once, and its manifest names nothing that is missing. Blobs come before
what refers to them. Logs are put together from slices and dropped when the segments that cover them are there; what a
signed redaction names is removed here.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fanal.record import layout
from fanal.record.blobs import NONCE_BYTES
from fanal.record.copies.fetching import AbsentError, Address, AlteredError
from fanal.record.copies.history import (
    HistoryError,
    by_log,
    cut_logs,
    has_slice,
    hold_continuation,
    hold_same,
    hold_segment,
    hold_slices,
    is_hash,
    log_path,
    make_folders,
    read_leaf,
    remove_strays,
    write_at,
)
from fanal.record.files import DamagedError, sha256, unseal, write_whole
from fanal.record.layout import BLOBS, LOG, MANIFEST_FILE, OWNER_FILE, RECORD_FILE, SEGMENTS, TAILS, numbered
from fanal.record.proof.entries import Entry, TailSlice
from fanal.record.proof.journal_facts import JOURNAL, journal_facts, redactions
from fanal.record.proof.leaves import FILE_LEAVES, TREE, Leaf, read_leaves
from fanal.record.proof.manifest import Manifest, manifest_of, read_manifest
from fanal.record.proof.tree import leaf_hash, root
from fanal.record.proof.verify_root import RootCheck, check_root, keep_key

LARGEST_LOOKED_AT_BYTES = 16 << 20
_REFERENCE = re.compile(rb'"\$blob":\s*"([0-9a-f]{64})"')


class KeyChangedError(Exception):
    """The record is validly signed by another key than the one that is remembered."""


class Mirror:
    """A copy in `folder` of the record published at `address`."""

    def __init__(self, address: Address, folder: Path) -> None:
        self.folder = folder
        self.fetched = 0
        self.fetched_bytes = 0
        self.missing: set[str] = set()
        """Blobs that facts refer to and the source does not have."""
        self.notes: list[str] = []
        self.key: str | None = None
        """Public key of the signature that was checked last, base64."""
        self.seen = False
        """The source has given a manifest."""
        self._address = address
        self._tag: str | None = None
        self._looked_through = False
        self._is_swept = False

    def round(self) -> bool:
        """Bring the copy up to date; whether the source had anything new.

        Raises:
            HistoryError: the source is not the history that the copy holds.
            OlderError: the source is an earlier state of it.
            KeyChangedError: it is signed by another key.
            AbsentError, AlteredError, UnreachableError: the source is in trouble; another round may go better.
        """
        answer = self._address.get(MANIFEST_FILE, self._tag)
        self.seen = True
        if answer is None:
            self._take_missing()
            return False
        body, old = answer.body, read_manifest(self.folder)
        with TemporaryDirectory(prefix="fanal-follow-") as name:
            stage = Path(name)
            new = self._read(body, stage)
            leaves = self._leaves(new, old, stage)
            checked = self._hold_root(new, leaves, stage)
            self._hold_logs(old, new)
            self._enter(stage)  # nothing in the copy has changed before
        if not self._is_swept:
            remove_strays(self.folder, new, leaves)
            self._is_swept = True
        self._take_writers(new, leaves)
        self._take_logs(new.tails or ())
        self._take_missing()
        self._keep_key(new, checked)
        is_new = not (self.folder / MANIFEST_FILE).exists() or (self.folder / MANIFEST_FILE).read_bytes() != body
        if is_new:
            write_whole(self.folder / MANIFEST_FILE, body)
        for name in _made_for(old) - _made_for(new):
            (self.folder / BLOBS / name).unlink(missing_ok=True)
        self._remove_redacted(leaves, checked)
        cut_logs(self.folder, new)
        self._tag = answer.tag
        return is_new

    def close(self) -> None:
        """End the connection."""
        self._address.close()

    def _read(self, body: bytes, stage: Path) -> Manifest:
        """The manifest in `body`, its pages and the record's header fetched."""
        fields = unseal(body)
        if isinstance(fields, str):
            raise AlteredError(f"{self._address.url}{MANIFEST_FILE} {fields}")
        if fields.get("format") != layout.FORMAT or fields.get("kind") != "manifest" or "tails" not in fields:
            raise HistoryError(f"{self._address.url}{MANIFEST_FILE} is no published record of format {layout.FORMAT}")
        header = self.folder / RECORD_FILE
        if header.exists() and sha256(header.read_bytes()) != fields.get("record_sha256"):
            raise HistoryError(f"{self._address.url} is another record than the one in {self.folder}")
        try:
            waiting = [*fields["pages"], *fields.get("tail_pages", ())]
            waiting += filter(None, [(fields["tree"] or {}).get("partial")])
            self._stage(stage, RECORD_FILE, str(fields["record_sha256"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise HistoryError(f"{self._address.url}{MANIFEST_FILE} says what no manifest says: {error!r}") from error
        while waiting:
            name = str(waiting.pop())
            waiting += _pages_on(self._stage(stage, f"{BLOBS}/{_hash(name)}", name))
        try:
            manifest = manifest_of(stage, body)
        except DamagedError as error:
            raise HistoryError(f"{self._address.url}{error.path.name} {error.what}") from error
        hold_slices(manifest)
        return manifest

    def _leaves(self, new: Manifest, old: Manifest | None, stage: Path) -> list[Leaf]:
        """The leaves of the new tree, which continues the old one; files of them that the copy lacks are staged."""
        if new.tree is None:
            raise HistoryError(f"{self._address.url}{MANIFEST_FILE} has no tree")
        size = old.tree.size if old and old.tree else 0
        before = read_leaves(self.folder, size, old.tree.partial) if old and old.tree else []
        leaves: list[Leaf] = []
        for index in range(new.tree.size // FILE_LEAVES):
            name = f"{TREE}/{index}"
            if index < size // FILE_LEAVES:
                body = (self.folder / name).read_bytes()
            else:  # one that lies in the copy and was never counted is not believed
                body = self._got(name)
                make_folders((stage / name).parent)
                (stage / name).write_bytes(body)
            leaves += [read_leaf(line) for line in body.splitlines()]
        if new.tree.partial is not None:
            leaves += [read_leaf(line) for line in (stage / BLOBS / new.tree.partial).read_bytes().splitlines()]
        hashes = _hashes(leaves)
        if len(leaves) != new.tree.size or root(hashes).hex() != new.tree.root:
            raise AlteredError(f"{self._address.url}{TREE}/ does not have the root that {MANIFEST_FILE} names")
        if old is not None:
            hold_continuation(old, _hashes(before), new, hashes)
        return leaves

    def _hold_root(self, new: Manifest, leaves: Sequence[Leaf], stage: Path) -> RootCheck:
        """Hold the note and its key; where it is another key, with what the record says of rotations."""
        checked = check_root(stage, new, _hashes(leaves), None)
        if checked.refused is not None:
            self._stage_journal(new, leaves, stage)
            checked = check_root(stage, new, _hashes(leaves), None)
        if checked.bad:
            raise HistoryError(f"{self._address.url}{checked.bad[0].file} {checked.bad[0].what}")
        if checked.refused is not None:
            raise KeyChangedError(f"it is signed by {checked.key}, and {checked.refused} is known as its key")
        return checked

    def _stage_journal(self, new: Manifest, leaves: Sequence[Leaf], stage: Path) -> None:
        of_segment = {(leaf.writer, leaf.segment): leaf.leaf for leaf in leaves}
        for entry in new.entries:
            if entry.run != JOURNAL or entry.withheld is not None:
                continue
            self._stage(stage, f"{entry.name}/{OWNER_FILE}", entry.owner_sha256)
            inside = f"{entry.name}/{SEGMENTS}"
            for number in range(1, entry.segments + 1):
                body, fields = self._segment(entry, number, of_segment.get((entry.name, number)))
                for file in fields["files"]:
                    if file["role"] == "facts":
                        self._stage(stage, f"{inside}/{file['name']}", file["sha256"])
                make_folders(stage / inside)
                (stage / inside / f"{number}.json").write_bytes(body)
        for (key, log), slices in by_log(new.tails or ()).items():
            for one in slices if key[0] == JOURNAL else ():
                write_at(log_path(stage, key, log), one.offset, self._slice(one))

    def _hold_logs(self, old: Manifest | None, new: Manifest) -> None:
        """What the copy has as slices is there in the same bytes, or in segments of the new manifest."""
        now = by_log(new.tails or ())
        entries = {entry.key: entry for entry in new.entries}
        for (key, log), before in by_log(old.tails or () if old else ()).items():
            slices, path = now.get((key, log), []), log_path(self.folder, key, log)
            last = before[-1].last_sequence
            if (not slices or slices[-1].last_sequence < last) and self._covered(entries[key]) < last:
                raise HistoryError(f"{entries[key].name} lacks frame {last}, which the copy has in {LOG}/{log}.log")
            for one in slices:
                if one not in before and one.offset < before[-1].offset + before[-1].bytes and not has_slice(path, one):
                    hold_same(path, one, self._slice(one), before)

    def _covered(self, entry: Entry) -> int:
        """The last frame that segments of the source hold."""
        if not entry.segments:
            return 0
        data = self._address.checked(f"{entry.name}/{SEGMENTS}/{entry.segments}.json", str(entry.last_sha256))
        fields = unseal(data)
        return int(fields["last_sequence"]) if isinstance(fields, dict) else 0

    def _enter(self, stage: Path) -> None:
        """Put into the copy what was staged of header, pages and tree."""
        files = [path for folder in (BLOBS, TREE) for path in (stage / folder).glob("*")]
        for path in (stage / RECORD_FILE, *files):
            if not path.is_symlink():
                self._put(self.folder / path.relative_to(stage), path.read_bytes())

    def _take_writers(self, new: Manifest, leaves: Sequence[Leaf]) -> None:
        of_segment = {(leaf.writer, leaf.segment): leaf.leaf for leaf in leaves}
        for entry in new.entries:
            self._take(f"{entry.name}/{OWNER_FILE}", entry.owner_sha256)
            if entry.withheld is not None:
                continue
            have = set(numbered(self.folder / entry.name / SEGMENTS, ".json"))
            for number in range(1, entry.segments + 1):
                if number not in have:
                    self._take_segment(entry, number, of_segment.get((entry.name, number)))

    def _segment(self, entry: Entry, number: int, leaf: str | None) -> tuple[bytes, dict[str, Any]]:
        """A segment's manifest at the source, which is the one of that leaf."""
        name = f"{entry.name}/{SEGMENTS}/{number}.json"
        body = self._got(name)
        fields = unseal(body)
        if isinstance(fields, str) or leaf_hash(body).hex() != leaf:
            raise AlteredError(f"{self._address.url}{name} is not the segment that the tree holds")
        if number == entry.segments and sha256(body) != entry.last_sha256:
            raise HistoryError(f"{name} is not the one that {MANIFEST_FILE} names")
        hold_segment(fields, entry, number)
        return body, fields

    def _take_segment(self, entry: Entry, number: int, leaf: str | None) -> None:
        """A segment's files, the blobs that they refer to, and then its manifest, which makes them count."""
        inside = f"{entry.name}/{SEGMENTS}"
        body, fields = self._segment(entry, number, leaf)
        for file in fields["files"]:
            self._take(f"{inside}/{file['name']}", file["sha256"])
            if file["role"] == "facts":
                self._take_referred((self.folder / inside / file["name"]).read_bytes())
        self._put(self.folder / inside / f"{number}.json", body)

    def _take_logs(self, tails: Sequence[TailSlice]) -> None:
        """Put the slices of open logs where they were in the log."""
        for (key, log), slices in by_log(tails).items():
            path = log_path(self.folder, key, log)
            for one in slices:
                if has_slice(path, one):
                    continue
                data = self._slice(one)
                self._count(data)
                self._take_referred(data)
                write_at(path, one.offset, data)

    def _slice(self, one: TailSlice) -> bytes:
        data = self._address.checked(f"{TAILS}/{one.sha256}", one.sha256)
        if len(data) != one.bytes:
            raise HistoryError(f"{TAILS}/{one.sha256} has {len(data)} bytes, and {MANIFEST_FILE} says {one.bytes}")
        return data

    def _take_referred(self, data: bytes) -> None:
        """The blobs that some facts refer to, and those that these refer to."""
        waiting = [name.decode() for name in _REFERENCE.findall(data)]
        while waiting:
            name = waiting.pop()
            path = self.folder / BLOBS / name
            if path.exists():
                continue
            try:
                self._take_blob(name)
                self.missing.discard(name)
            except AbsentError:
                self.missing.add(name)
                continue
            waiting += [found.decode() for found in _REFERENCE.findall(_json_in(path))]

    def _take_missing(self) -> None:
        """Ask again for blobs that were not there; after a start, find out which ones the copy lacks."""
        if not self._looked_through:
            for pattern in ("runs/*/*/*/seg/*.jsonl", "runs/*/*/*/log/*.log"):
                for path in self.folder.glob(pattern):
                    self._take_referred(path.read_bytes())
            self._looked_through = True
        self.missing -= redactions(self.folder).keys()
        self._take_referred(b"".join(b'"$blob":"%s"' % name.encode() for name in sorted(self.missing)))

    def _keep_key(self, new: Manifest, checked: RootCheck) -> None:
        keep_key(new, checked)
        self.notes += [note for note in checked.notes if note not in self.notes]
        self.key = checked.key

    def _remove_redacted(self, leaves: Sequence[Leaf], checked: RootCheck) -> None:
        """Remove blobs, on the word of what the signature covers where there is one."""
        signed = {(leaf.writer, leaf.segment) for leaf in leaves[: checked.covers]}
        for fact in journal_facts(self.folder, "redaction"):
            counts = checked.covers is None or (fact.writer, fact.segment) in signed
            if counts and is_hash(fact.fields["blob"]):
                (self.folder / BLOBS / fact.fields["blob"]).unlink(missing_ok=True)

    def _got(self, name: str) -> bytes:
        answer = self._address.get(name)
        assert answer is not None, "without a tag there is a body"
        return answer.body

    def _stage(self, stage: Path, name: str, named: str) -> Path:
        """A file with that hash at its place in the stage: the copy's own, or the source's."""
        path, own = stage / name, self.folder / name
        if not path.exists():
            make_folders(path.parent)
            if own.exists() and sha256(own.read_bytes()) == named:
                path.symlink_to(own.absolute())
            else:
                self._address.download(name, named, path)
        return path

    def _take(self, name: str, named: str) -> None:
        """A file with that hash at its place in the copy."""
        path = self.folder / name
        if path.exists() and sha256(path.read_bytes()) == named:
            return
        make_folders(path.parent)
        self._address.download(name, named, path)
        self.fetched += 1
        self.fetched_bytes += path.stat().st_size

    def _take_blob(self, name: str) -> None:
        self._take(f"{BLOBS}/{_hash(name)}", name)

    def _put(self, path: Path, body: bytes) -> None:
        make_folders(path.parent)
        write_whole(path, body)
        self._count(body)

    def _count(self, body: bytes) -> None:
        self.fetched += 1
        self.fetched_bytes += len(body)


def _made_for(manifest: Manifest | None) -> set[str]:
    """Blobs that were made for this manifest alone: the tree's last leaves, and pages of slices."""
    if manifest is None:
        return set()
    partial = manifest.tree.partial if manifest.tree else None
    return {*manifest.tail_pages, *([partial] if partial else [])}


def _pages_on(path: Path) -> Iterable[str]:
    """The pages that a page names; other blobs name none."""
    try:
        fields: Any = json.loads(path.read_bytes())
    except ValueError:
        return ()
    return fields.get("pages", ()) if isinstance(fields, dict) else ()


def _hash(name: str) -> str:
    if not is_hash(name):
        raise HistoryError(f"{name[:100]!r} cannot be a blob")
    return name


def _hashes(leaves: Iterable[Leaf]) -> list[bytes]:
    return [bytes.fromhex(leaf.leaf) for leaf in leaves]


def _json_in(path: Path) -> bytes:
    """What a blob holds where that may refer to other blobs: JSON, and not very long."""
    with path.open("rb") as file:
        file.seek(NONCE_BYTES)
        start = file.read(LARGEST_LOOKED_AT_BYTES)
    return start if start[:1] in (b"{", b"[") else b""
