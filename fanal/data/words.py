"""Texts as words and word n-grams, hashed: the common ground of near duplicates and decontamination.

Guarantees: a word is a run of letters, digits and underscores of the case-folded NFKC text; its hash is
64 bits of BLAKE2b, so the same for ever (a golden file holds it); an n-gram never crosses documents.
Costs about a second for ten megabytes. Two n-grams collide once in 2^64; nothing here checks for it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fanal.data.keyed import mix64

Hashes = NDArray[np.uint64]
Starts = NDArray[np.int64]
_WORD = re.compile(r"\w+")
_SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Ragged:
    """One list of hashes a document, laid end to end: document i holds values[starts[i]:starts[i + 1]]."""

    values: Hashes
    starts: Starts

    @property
    def lengths(self) -> Starts:
        return np.diff(self.starts)

    def of(self, document: int) -> Hashes:
        """The hashes of one document."""
        return self.values[self.starts[document] : self.starts[document + 1]]

    def owners(self) -> NDArray[np.int64]:
        """Which document each value belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    def take(self, documents: NDArray[np.int64]) -> "Ragged":
        """The same for some of the documents."""
        parts = [self.of(int(d)) for d in documents]
        return Ragged(np.concatenate([np.zeros(0, np.uint64), *parts]), _starts(self.lengths[documents]))


class _Numbers(dict[str, int]):
    """Words to numbers in order of appearance."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def hash_words(texts: Iterable[str]) -> Ragged:
    """The words of each text, hashed."""
    numbers = _Numbers()
    ids: list[NDArray[np.int64]] = []
    for text in texts:
        words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        ids.append(np.fromiter(map(numbers.__getitem__, words), np.int64, len(words)))
    digests = b"".join(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest() for word in numbers)
    table = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    lengths = np.array([len(i) for i in ids], np.int64)
    return Ragged(table[np.concatenate([np.zeros(0, np.int64), *ids])], _starts(lengths))


def ngrams(words: Ragged, size: int) -> Ragged:
    """Every run of `size` words of each document, hashed; a document with fewer words has none."""
    total = max(len(words.values) - size + 1, 0)
    grams = np.zeros(total, np.uint64)
    for place in range(size):
        grams ^= words.values[place : place + total] * np.uint64(mix64(2 * place) | 1)
        grams *= np.uint64(mix64(2 * place + 1) | 1)
        grams ^= grams >> _SHIFT
    lengths = np.maximum(words.lengths - size + 1, 0)
    ends = np.repeat(words.starts[1:], words.lengths)[:total]
    return Ragged(grams[np.arange(total) + size <= ends], _starts(lengths))


def _starts(lengths: NDArray[np.int64]) -> Starts:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
