"""Near duplicates: MinHash finds candidates, the true Jaccard index decides, and nothing is chained.

Guarantees: a document goes only if a document that STAYS is at least `jaccard` similar to it, measured
on the whole sets of word n-grams; of two, the longer stays. The result does not depend on the order of
the documents. Chains (a like b, b like c, a unlike c) take nobody along: on licence texts connected
components would remove two thirds of what they remove for that reason alone.
Costs seconds for ten megabytes. Documents with fewer words than an n-gram are left to the exact hash.
Source: Broder, "On the resemblance and containment of documents" (1997); 14 bands of 8 rows as in FineWeb.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fanal.campaign.spec import NearDuplicates
from fanal.data.documents import Document
from fanal.data.keyed import mix64
from fanal.data.report import Removed
from fanal.data.words import Hashes, Ragged, hash_words, ngrams

BANDS, ROWS = 14, 8
NUM_HASHES = BANDS * ROWS
_CHUNK_GRAMS = 1 << 15
_MULTIPLIERS = [np.uint64(mix64(3 * i) | 1) for i in range(NUM_HASHES)]
_OFFSETS = [np.uint64(mix64(3 * i + 1)) for i in range(NUM_HASHES)]
_HISTOGRAM_BINS = 10


@dataclass(frozen=True)
class Link:
    """Two documents that were compared and found similar enough."""

    one: str
    other: str
    jaccard: float


@dataclass(frozen=True)
class Found:
    """What the search for near duplicates gives."""

    removed: list[Removed]
    links: list[Link]
    """Verified pairs that connect documents, kept and removed: enough of them to give the components."""
    compared: int
    """Pairs whose true index was computed."""
    histogram: list[int]
    """Of those indices, in ten equal bins from 0 to 1."""


class Components:
    """Documents joined by links: union-find whose root is the smallest id."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, own: str) -> str:
        """The smallest id of the component."""
        top = own
        while self._parent.get(top, top) != top:
            top = self._parent[top]
        while self._parent.get(own, own) != top:
            self._parent[own], own = top, self._parent[own]
        return top

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        if first != second:
            self._parent[second] = first


def signatures(grams: Ragged) -> NDArray[np.uint32]:
    """MinHash signatures, one row of `NUM_HASHES` a document that has n-grams; the others get all ones."""
    result = np.full((len(grams.starts) - 1, NUM_HASHES), 0xFFFFFFFF, np.uint32)
    filled = np.flatnonzero(grams.lengths)
    chunk_of = grams.starts[filled] // _CHUNK_GRAMS
    for chunk in np.split(filled, np.flatnonzero(np.diff(chunk_of)) + 1):
        if len(chunk):
            first, end = grams.starts[chunk[0]], grams.starts[chunk[-1] + 1]
            starts = grams.starts[chunk] - first
            values = grams.values[first:end]
            for i, (a, b) in enumerate(zip(_MULTIPLIERS, _OFFSETS, strict=True)):
                result[chunk, i] = np.minimum.reduceat(values * a + b, starts) >> np.uint64(32)
    return result


def band_keys(signature: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """One key a document and band; documents with the same key in any band are candidates."""
    rows = signature.reshape(-1, BANDS, ROWS).astype(np.uint64)
    keys = np.zeros(rows.shape[:2], np.uint64)
    for row in range(ROWS):
        keys = (keys ^ rows[:, :, row]) * np.uint64(mix64(row) | 1)
        keys ^= keys >> np.uint64(31)
    return keys


class _Search:
    """Goes through the documents, longest first, and holds each against those before it."""

    def __init__(self, documents: Sequence[Document], settings: NearDuplicates) -> None:
        self.documents = documents
        self.settings = settings
        self.grams = ngrams(hash_words(d.text for d in documents), settings.ngram_words)
        self.keys = band_keys(signatures(self.grams))
        self.sets: dict[int, Hashes] = {}
        self.buckets: dict[tuple[int, int], list[int]] = {}
        self.components = Components()
        self.kept: set[int] = set()
        self.removed: list[Removed] = []
        self.links: list[Link] = []
        self.indices: list[float] = []

    def visit(self, own: int) -> None:
        places = [(band, int(key)) for band, key in enumerate(self.keys[own])]
        before = sorted({other for place in places for other in self.buckets.get(place, ())})
        best = self._closest_kept(own, [other for other in before if other in self.kept])
        if best is None:
            self.kept.add(own)
        else:
            document = self.documents[own]
            of = self.documents[best[0]].id
            self.removed.append(
                Removed(document.id, document.domain, document.num_bytes, "near_duplicate", of, best[1])
            )
        self._link_removed(own, [other for other in before if other not in self.kept])
        for place in places:
            self.buckets.setdefault(place, []).append(own)

    def _closest_kept(self, own: int, candidates: list[int]) -> tuple[int, float] | None:
        similar = [(other, self._compare(own, other)) for other in candidates]
        similar = [pair for pair in similar if pair[1] >= self.settings.jaccard]
        for other, index in similar:
            self._link(own, other, index)
        return min(similar, key=lambda pair: (-pair[1], self.documents[pair[0]].id), default=None)

    def _link_removed(self, own: int, candidates: list[int]) -> None:
        for other in candidates:
            if self.components.root(self.documents[own].id) != self.components.root(self.documents[other].id):
                index = self._compare(own, other)
                if index >= self.settings.jaccard:
                    self._link(own, other, index)

    def _link(self, own: int, other: int, index: float) -> None:
        self.components.join(self.documents[own].id, self.documents[other].id)
        self.links.append(Link(self.documents[own].id, self.documents[other].id, index))

    def _compare(self, own: int, other: int) -> float:
        index = jaccard(self._set(own), self._set(other))
        self.indices.append(index)
        return index

    def _set(self, own: int) -> Hashes:
        if own not in self.sets:
            self.sets[own] = np.unique(self.grams.of(own))
        return self.sets[own]


def near_duplicates(documents: Sequence[Document], settings: NearDuplicates) -> Found:
    """What to remove so that no document is left that is `jaccard` similar to a longer one (as far as MinHash sees).

    Two documents of similarity J become candidates with probability 1 − (1 − J^8)^14: 0.92 at 0.8.
    """
    search = _Search(documents, settings)
    with_grams = np.flatnonzero(search.grams.lengths)
    for own in sorted(map(int, with_grams), key=lambda i: (-documents[i].num_bytes, documents[i].id)):
        search.visit(own)
    histogram, _ = np.histogram(search.indices, bins=_HISTOGRAM_BINS, range=(0.0, 1.0))
    return Found(search.removed, search.links, len(search.indices), [int(n) for n in histogram])


def jaccard(one: Hashes, other: Hashes) -> float:
    """Jaccard index of two sets, given as sorted arrays without repeats."""
    if not len(one) or not len(other):
        return 0.0
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


def chained(documents: Sequence[Document], links: Sequence[Link]) -> dict[str, int]:
    """How many documents of each domain connected components would have removed instead."""
    components = Components()
    for link in links:
        components.join(link.one, link.other)
    seen: set[str] = set()
    lost: dict[str, int] = {}
    for document in sorted(documents, key=lambda d: (-d.num_bytes, d.id)):
        root = components.root(document.id)
        if root in seen:
            lost[document.domain] = lost.get(document.domain, 0) + 1
        seen.add(root)
    return lost
