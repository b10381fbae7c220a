"""Training documents that hold too much of a held-out one are removed; held-out text is never edited.

Guarantees: afterwards no training document covers `share` or more of the word n-grams of any single
held-out document. A threshold of one shared n-gram would delete most licence texts; what it would
have deleted is counted and published beside what was. Held-out documents shorter than an n-gram, but of
at least `MIN_WORDS` words, count as one n-gram of their own length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fanal.campaign.spec import Decontaminate
from fanal.data.documents import Document
from fanal.data.report import Removed
from fanal.data.words import Ragged, hash_words, ngrams

MIN_WORDS = 5
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Overlaps:
    """Pairs that share n-grams: training document, held-out document, share of the latter's n-grams."""

    train: Indices
    held: Indices
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Decontaminated:
    """What to remove, and what was found."""

    removed: list[Removed]
    touched_train: dict[str, int]
    """Training documents by domain that share any n-gram with any held-out document."""
    touched_held: dict[str, int]
    """Held-out documents by domain that share any n-gram with a training document, before removal."""
    left_share: dict[str, float]
    """By domain, mean over held-out documents of the largest share that a training document left has."""


def decontaminate(train: Sequence[Document], held: Sequence[Document], settings: Decontaminate) -> Decontaminated:
    """Find the training documents that cover `share` or more of a held-out document's n-grams."""
    overlaps = find_overlaps(hash_words(d.text for d in train), hash_words(d.text for d in held), settings.ngram_words)
    covering = overlaps.share >= settings.share
    worst: dict[int, tuple[float, int]] = {}
    for t, h, share in zip(overlaps.train[covering], overlaps.held[covering], overlaps.share[covering], strict=True):
        worst[int(t)] = max(worst.get(int(t), (0.0, 0)), (float(share), int(h)))
    removed = [
        Removed(train[t].id, train[t].domain, train[t].num_bytes, "covers_held_out", held[h].id, share)
        for t, (share, h) in sorted(worst.items())
    ]
    return Decontaminated(
        removed,
        _by_domain(train, overlaps.train),
        _by_domain(held, overlaps.held),
        _left_share(held, overlaps, np.isin(overlaps.train, list(worst))),
    )


def find_overlaps(train: Ragged, held: Ragged, size: int) -> Overlaps:
    """All pairs that share n-grams of `size` words, or the whole of a shorter held-out document."""
    found = [_overlaps_of(train, held, np.flatnonzero(held.lengths >= size), size)]
    found += [
        _overlaps_of(train, held, np.flatnonzero(held.lengths == short), short)
        for short in range(MIN_WORDS, size)
        if np.any(held.lengths == short)
    ]
    return Overlaps(
        np.concatenate([o.train for o in found]),
        np.concatenate([o.held for o in found]),
        np.concatenate([o.share for o in found]),
    )


def _overlaps_of(train: Ragged, held: Ragged, which: Indices, size: int) -> Overlaps:
    held_grams = ngrams(held.take(which), size)
    grams, owners = _distinct(held_grams)
    sizes = np.bincount(owners, minlength=len(which))
    train_grams, train_owners = _distinct(_only(ngrams(train, size), grams))
    # The held-out n-grams lie sorted, so the owners of one value are a run: expand each match to all of them.
    first, last = np.searchsorted(grams, train_grams, "left"), np.searchsorted(grams, train_grams, "right")
    times = last - first
    run = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    of_held = owners[np.repeat(first, times) + run]
    of_train = np.repeat(train_owners, times)
    pairs, shared = np.unique(of_train * max(len(which), 1) + of_held, return_counts=True)
    t, h = np.divmod(pairs, max(len(which), 1))
    return Overlaps(t, which[h], shared / sizes[h])


def _distinct(grams: Ragged) -> tuple[NDArray[np.uint64], Indices]:
    """Each n-gram once a document, sorted by n-gram, with its document."""
    owners = grams.owners()
    order = np.lexsort((owners, grams.values))
    values, owners = grams.values[order], owners[order]
    new = np.ones(len(values), bool)
    new[1:] = (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])
    return values[new], owners[new]


def _only(grams: Ragged, wanted: NDArray[np.uint64]) -> Ragged:
    """The n-grams that are among `wanted`, which is sorted."""
    if not len(wanted):
        return Ragged(grams.values[:0], np.zeros_like(grams.starts))
    place = np.minimum(np.searchsorted(wanted, grams.values), len(wanted) - 1)
    hit = wanted[place] == grams.values
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(hit)])
    return Ragged(grams.values[hit], counts[grams.starts])


def _by_domain(documents: Sequence[Document], touched: Indices) -> dict[str, int]:
    found: dict[str, int] = {}
    for index in np.unique(touched):
        name = documents[int(index)].domain
        found[name] = found.get(name, 0) + 1
    return found


def _left_share(held: Sequence[Document], overlaps: Overlaps, gone: NDArray[np.bool_]) -> dict[str, float]:
    most = np.zeros(len(held))
    np.maximum.at(most, overlaps.held[~gone], overlaps.share[~gone])
    names = np.array([d.domain for d in held])
    return {str(name): float(most[names == name].mean()) for name in dict.fromkeys(names.tolist())}
