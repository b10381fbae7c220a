"""Tokens on disk: one array a domain, and beside it which documents they are.

Guarantees: an id that the array's type or the vocabulary cannot hold is refused, never wrapped; each
document ends with the separator, which occurs nowhere else; the borders of documents are stored, not
guessed. Shards are memory-mapped: opening one costs nothing, whatever its size.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fanal.data.store import canonical, sha256_hex
from fanal.data.tokens import SEPARATOR_ID
from fanal.errors import DataError

Tokens = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Index:
    """Which documents a shard holds."""

    vocab: int
    tokens: int
    ids: tuple[str, ...]
    starts: NDArray[np.int64]
    """First token of each document, and the number of tokens at the end; one more than documents."""

    def documents_in(self, first: int, end: int) -> range:
        """Indices of the documents that have tokens in [first, end)."""
        low = int(np.searchsorted(self.starts, first, "right")) - 1
        high = int(np.searchsorted(self.starts, end, "left"))
        return range(low, min(high, len(self.ids)))


def as_tokens(ids: Sequence[int] | NDArray[np.int64], vocab: int) -> Tokens:
    """Ids in the smallest of uint16 and uint32 that holds the vocabulary.

    Raises:
        DataError: an id that is not in the vocabulary.
    """
    wide = np.asarray(ids, dtype=np.int64)
    outside = wide[(wide < 0) | (wide >= vocab)]
    if len(outside):
        raise DataError(f"token id {outside[0]} is not in [0, {vocab}), the vocabulary's")
    return wide.astype(np.uint16 if vocab <= 1 << 16 else np.uint32)


def make_shard(ids: Sequence[str], documents: Sequence[Sequence[int]], vocab: int) -> dict[str, bytes]:
    """The files of one shard, by ending: `.npy` with the tokens, `.json` with the documents."""
    lengths = np.fromiter((len(d) + 1 for d in documents), np.int64, len(documents))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.full(int(starts[-1]), SEPARATOR_ID, np.int64)
    for start, document in zip(starts, documents, strict=False):
        flat[start : start + len(document)] = document
    assert np.count_nonzero(flat == SEPARATOR_ID) == len(documents), "a document holds the separator"
    array = io.BytesIO()
    np.save(array, as_tokens(flat, vocab), allow_pickle=False)
    npy = array.getvalue()
    index = {
        "vocab": vocab,
        "tokens": len(flat),
        "sha256": sha256_hex(npy),
        "ids": list(ids),
        "starts": starts.tolist(),
    }
    return {".npy": npy, ".json": canonical(index)}


def open_shard(path: Path, vocab: int) -> Tokens:
    """The tokens of a shard, memory-mapped.

    Raises:
        DataError: no shard there, or one of another type than the vocabulary needs.
    """
    try:
        tokens = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: no readable shard: {error}") from error
    expected = as_tokens([], vocab).dtype
    if tokens.dtype != expected or tokens.ndim != 1:
        raise DataError(f"{path}: expected {expected} tokens of a vocabulary of {vocab}, found {tokens.dtype}")
    return tokens


def open_index(shard: Path) -> Index:
    """The documents of the shard at `shard`.

    Raises:
        DataError: no index beside it.
    """
    file = shard.with_suffix(".json")
    try:
        document = json.loads(file.read_bytes())
        starts = np.array(document["starts"], np.int64)
        return Index(document["vocab"], document["tokens"], tuple(document["ids"]), starts)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{file}: no readable index of documents: {error}; build the corpus again") from error


def num_seqs(tokens: int, seq_tokens: int) -> int:
    """Sequences of seq_tokens + 1 tokens at a stride of seq_tokens; the last token of one is the first of the next."""
    return max(tokens - 1, 0) // seq_tokens
