"""The page and the public record as plain files at a destination: children first, manifests last, each whole or absent.

What is there already is not sent again: the destination is listed once, and files other than the manifests never
change. It can stop at any instruction and go on. A secret that nobody allowed stops it before the first byte. Taken
away are redacted blobs, outdated views, and slices of logs that segments have covered for an hour; nobody else's files
are touched, and a destination that holds other things, or another record, is refused.
"""

import json
import re
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fanal.errors import RefusedError
from fanal.page.live import LivePage, usable_signer
from fanal.page.public import Piece, PublicRecord, unallowed
from fanal.page.published import PublishOptions, PublishReport, blocked
from fanal.page.site import KIND, View, assets, cache_rule, content_type
from fanal.page.stores import Store, Stored, is_bucket, open_store
from fanal.record.files import sha256, unseal
from fanal.record.layout import BLOBS, RECORD_FILE, TAILS
from fanal.record.proof import manifest
from fanal.record.proof.entries import TailSlice

KEPT_VIEWS = 8
KEPT_SECONDS = 3600
"""How long a slice that no manifest names any more stays, for readers with an old manifest."""
AT_ONCE = 8
LARGE_BYTES = 32 << 20
"""Files from here on are sent from the disk."""
RECORD = "record"
_SEGMENT = re.compile(r"/seg/([0-9]+)\.json$")
_VIEW = re.compile(r"view/([0-9a-f]{64})\.json")
_MANIFEST = f"{RECORD}/manifest.json"
_OURS = {"assets", RECORD, "view", "index.html", "manifest.json"}


class Publication:
    """A record on its way to a destination; each `round` brings the destination up to date."""

    def __init__(self, source: Path, dest: str, options: PublishOptions) -> None:
        self.source = source
        self.store = open_store(dest)
        self._options = options
        self._signer, self._note = usable_signer(source)
        _hold_outside(source, dest)
        self._present = self.store.listed()
        self._documents: dict[str, bytes] = {}
        self._dropped: dict[str, float] = {}
        self._made: set[str] = set()
        self._sent: set[str] = set()
        before = _published_before(self.store, self._present, source)
        self._left: set[str] = self._passing_there() - {f"{RECORD}/{TAILS}/{one.sha256}" for one in before}
        """What an earlier publisher left there, and its manifest did not name any more."""
        self._manifest_before = self._present.get(_MANIFEST)
        self.public = PublicRecord(source, before)
        self._page = LivePage(source)
        self._views: set[str] = set()

    def look(self) -> PublishReport:
        """What a round would do; writes nothing."""
        files, documents, view = self._gather()
        new = [(name, piece.num_bytes) for name, piece in files.items() if not self._is_there(name, piece)]
        new += [(name, len(body)) for name, body in documents.items() if self._document(name) != body]
        secrets = tuple(unallowed(self.public.findings, self._options.allow))
        report = self._report(files, documents, view)
        return replace(
            report,
            written=len(new),
            written_bytes=sum(size for _, size in new),
            dry_run=True,
            would_write=tuple(new),
            secrets=secrets,
        )

    def round(self) -> PublishReport:
        """Send what is new, then the manifests, then take away what is outdated.

        Raises:
            RefusedError: a secret that nobody allowed is among what is new: nothing was sent; redacted blobs went.
            RecordError: a file of the record has changed since it was closed: nothing that names it was sent.
            StoreError: the destination did not take something; what is there is whole.
        """
        files, documents, view = self._gather()
        if secrets := unallowed(self.public.findings, self._options.allow):
            taken = self._delete(self._redacted())  # a redaction waits for no other secret
            raise RefusedError(blocked(secrets, self._unused(), taken))
        new = {name: piece for name, piece in files.items() if not self._is_there(name, piece)}
        self._send(new)
        changed = {name: body for name, body in documents.items() if self._document(name) != body}
        for name, body in changed.items():
            self.store.put(name, body, _headers(name))
            self._documents[name] = body
            self._sent.add(name)
            self._present[name] = Stored(len(body), time.time())
        self._take_away(files, view)
        written_bytes = sum(piece.num_bytes for piece in new.values()) + sum(map(len, changed.values()))
        report = self._report(files, documents, view)
        return replace(report, written=len(new) + len(changed), written_bytes=written_bytes)

    def _gather(self) -> tuple[dict[str, Piece], dict[str, bytes], View | None]:
        """What belongs at the destination: immutable files, and the documents that change, in order of sending."""
        self.public.refresh()
        if not self.public.is_copy and (self.public.is_behind or not self.public.has_tree):
            manifest.commit(self.source, signer=self._signer)
            self.public.refresh()
        made = self.public.render(self._signer)
        assert made is not None, "a committed record has a manifest with a tree"
        self._made |= {f"{RECORD}/{BLOBS}/{name}" for name in made.blobs}
        view = self._page.newest()
        shared = assets()
        files = {name: _piece(body) for name, body in shared.files.items()}
        files |= {f"{RECORD}/{name}": piece for name, piece in self.public.files.items()}
        files[view.name] = _piece(view.body)
        self._views.add(view.name)
        documents = {"index.html": shared.index, _MANIFEST: made.data}
        documents["manifest.json"] = replace(view, record_manifest_sha256=sha256(made.data)).manifest
        return files, documents, view

    def _is_there(self, name: str, piece: Piece) -> bool:
        found = self._present.get(name)
        return found is not None and found.num_bytes == piece.num_bytes

    def _document(self, name: str) -> bytes | None:
        """What the destination holds under a name that changes."""
        if name not in self._documents and name in self._present:
            self._documents[name] = self.store.get(name) or b""
        return self._documents.get(name)

    def _send(self, new: dict[str, Piece]) -> None:
        """Send what is new, a segment's manifest after its files: from then on the segment counts."""
        last = sorted((name for name in new if _SEGMENT.search(name)), key=_number)
        first = [name for name in new if not _SEGMENT.search(name)]
        if len(first) > 2:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for _ in pool.map(self._send_one, first, [new[name] for name in first]):
                    pass
        for name in last if len(first) > 2 else [*first, *last]:
            self._send_one(name, new[name])

    def _send_one(self, name: str, piece: Piece) -> None:
        if piece.body is None and piece.num_bytes >= LARGE_BYTES:
            piece.check()
            self.store.put_file(name, piece.path, _headers(name))
        else:
            self.store.put(name, piece.checked(), _headers(name))
        self._present[name] = Stored(piece.num_bytes, time.time())

    def _take_away(self, files: dict[str, Piece], view: View | None) -> None:
        """Redacted blobs, views of ours but the newest few, and slices that were dropped an hour ago."""
        gone = self._redacted()
        views = [name for name in self._present if _VIEW.fullmatch(name) and (view is None or name != view.name)]
        views.sort(key=lambda name: self._present[name].changed, reverse=True)
        gone |= {name for name in views[KEPT_VIEWS - 1 :] if self._is_ours(name)}
        gone |= self._passed(files.keys())
        self._delete(gone)

    def _redacted(self) -> set[str]:
        return {f"{RECORD}/{BLOBS}/{name}" for name in self.public.redacted}

    def _delete(self, gone: set[str]) -> int:
        """Take away what of these is there; how many were."""
        there = sorted(gone & self._present.keys())
        for name in there:
            self.store.delete(name)
            del self._present[name]
        return len(there)

    def _unused(self) -> tuple[str, ...]:
        """Fingerprints that were allowed and are of nothing that was found."""
        found = {one.fingerprint for one in self.public.findings}
        return tuple(one for one in dict.fromkeys(self._options.allow) if one not in found)

    def _is_ours(self, view: str) -> bool:
        if view in self._views:
            return True
        match = _VIEW.fullmatch(view)
        body = self.store.get(view)
        return match is not None and body is not None and sha256(body) == match[1]

    def _passing_there(self) -> set[str]:
        """Slices, and what was made for one manifest, at the destination: they are dropped as the record goes on."""
        start = f"{RECORD}/{TAILS}/"
        return {name for name in self._present if name.startswith(start)} | self._made

    def _passed(self, named: Collection[str]) -> set[str]:
        """What no manifest has named for an hour."""
        now = time.monotonic()
        passing = self._passing_there()
        for name in passing.intersection(named):
            self._dropped.pop(name, None)
            self._left.discard(name)
        for name in passing.difference(named):
            self._dropped.setdefault(name, now)
        gone = {name for name, since in self._dropped.items() if now - since > KEPT_SECONDS}
        if self._left and _MANIFEST in self._sent:
            gone |= self._left if self._is_long_since() else set()
            self._left = set()
        for name in gone:
            self._dropped.pop(name, None)
        self._made -= gone
        return gone

    def _is_long_since(self) -> bool:
        """Whether the manifest before ours is old, by the destination's own clock."""
        now, before = self.store.listed().get(_MANIFEST), self._manifest_before
        return now is not None and before is not None and now.changed - before.changed > KEPT_SECONDS

    def _report(self, files: dict[str, Piece], documents: dict[str, bytes], view: View | None) -> PublishReport:
        entries = self.public.manifest.entries if self.public.manifest else ()
        return PublishReport(
            dest=self.store.name,
            view=view.name if view else None,
            files=len(files) + len(documents),
            written=0,
            written_bytes=0,
            address=self._options.address or self.store.address,
            missing=tuple(sorted(f"{BLOBS}/{name}" for name in self.public.missing)),
            signed=self._signer.public_key if self._signer else None,
            note=self._note,
            unused=self._unused(),
            withheld=tuple(f"{entry.name}: {entry.withheld}" for entry in entries if entry.withheld is not None),
        )


def _number(name: str) -> int:
    match = _SEGMENT.search(name)
    assert match is not None, "only called for manifests of segments"
    return int(match[1])


def _headers(name: str) -> dict[str, str]:
    return {"Content-Type": content_type(name), "Cache-Control": cache_rule(name)}


def _piece(body: bytes) -> Piece:
    return Piece(Path(), len(body), body=body)


def _hold_outside(source: Path, dest: str) -> None:
    if is_bucket(dest):
        return
    inside = Path(dest).resolve()
    if inside == source.resolve() or source.resolve() in inside.parents:
        raise RefusedError(f"{dest} lies inside the record {source}: name a folder outside it")


def _published_before(store: Store, present: dict[str, Stored], source: Path) -> list[TailSlice]:
    """The slices that the destination's manifest names.

    Raises:
        RefusedError: the destination is no page, or one of another record.
    """
    if not present:
        return []
    page = store.get("manifest.json") if "manifest.json" in present else None
    ours = _kind(page) == KIND if page is not None else {n.partition("/")[0] for n in present} <= _OURS
    if not ours:
        first = min(name.partition("/")[0] for name in present)
        raise RefusedError(
            f"{store.name} holds {first!r} and is no page of ours: name a new or empty place, or one used before"
        )
    header = store.get(f"{RECORD}/{RECORD_FILE}") if f"{RECORD}/{RECORD_FILE}" in present else None
    if header is not None and header != (source / RECORD_FILE).read_bytes():
        raise RefusedError(f"{store.name} holds another record: name another place for {source}")
    return _tails_named(store)


def _kind(page: bytes) -> object:
    try:
        document: object = json.loads(page)
    except ValueError:
        return None
    return cast("dict[str, object]", document).get("kind") if isinstance(document, dict) else None


def _tails_named(store: Store) -> list[TailSlice]:
    """The slices of the published manifest; none where it cannot be read: they are cut anew then."""
    data = store.get(_MANIFEST)
    fields = unseal(data) if data is not None else ""
    if isinstance(fields, str):
        return []
    listed: list[Any] = list(fields.get("tails") or [])
    for name in cast("list[str]", fields.get("tail_pages") or []):
        page = store.get(f"{RECORD}/{BLOBS}/{name}")
        if page is not None and sha256(page) == name:
            listed += cast("list[Any]", json.loads(page)["tails"])
    try:
        return [TailSlice(**one) for one in listed]
    except (TypeError, ValueError):
        return []
