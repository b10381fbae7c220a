"""Batches: positions in, arrays out.

Guarantees: `batch(position, n)` is a function of the corpus, the order and its two arguments; cutting it
among hosts or into smaller batches gives the same sequences. Targets are inputs one token later; where
the input is the separator the target belongs to the next document and is not scored.
Costs below a millisecond for 8 sequences of 128 tokens. It keeps no state.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fanal.data.corpus import Corpus
from fanal.data.order import Order
from fanal.data.shards import Tokens, open_shard
from fanal.data.tokens import SEPARATOR_ID

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """Sequences, ready for the model."""

    inputs_BS: Ints
    targets_BS: Ints
    segments_BS: Ints
    """Number of the document within its sequence, from 0."""
    positions_BS: Ints
    """Place within the document, as far as it lies in this sequence, from 0."""
    scored_BS: Bools
    """Which predictions count."""
    valid_BS: Bools
    """Which inputs are real; padding, in evals only, is not, and each pad is a document of its own."""
    position: int
    """Position of the first sequence in its run; in evals the number of the first row."""
    domains: tuple[int, ...]
    """Domain of each sequence; −1 for padding."""

    def sequences(self, first: int, end: int) -> "Batch":
        """The sequences [first, end) of this batch."""
        cut = {name: getattr(self, name)[first:end] for name in _ARRAYS}
        return replace(self, **cut, position=self.position + first, domains=self.domains[first:end])


_ARRAYS = ("inputs_BS", "targets_BS", "segments_BS", "positions_BS", "scored_BS", "valid_BS")


class BatchSource:
    """The batches of one run."""

    def __init__(self, corpus: Corpus, order: Order) -> None:
        self.order = order
        self._seq_tokens = corpus.seq_tokens
        self._shards: list[Tokens] = [open_shard(d.shard, corpus.vocab) for d in corpus.domains]

    def batch(self, position: int, num_seqs: int) -> Batch:
        """The `num_seqs` sequences from `position` on."""
        draws = [self.order.draw(p) for p in range(position, position + num_seqs)]
        rows = np.empty((num_seqs, self._seq_tokens + 1), np.int32)
        for row, drawn in zip(rows, draws, strict=True):
            first = drawn.index * self._seq_tokens
            row[:] = self._shards[drawn.domain][first : first + self._seq_tokens + 1]
        return make_batch(rows, position, tuple(d.domain for d in draws))

    def domain_tokens(self, position: int) -> dict[str, int]:
        """Tokens drawn of each domain before `position`."""
        counts = self.order.counts(position)
        return {name: n * self._seq_tokens for name, n in zip(self.order.domains, counts, strict=True)}


def make_batch(rows: Ints, position: int, domains: tuple[int, ...]) -> Batch:
    """A batch of rows of seq_tokens + 1 tokens each."""
    inputs = np.ascontiguousarray(rows[:, :-1])
    starts = np.zeros(inputs.shape, bool)
    starts[:, 1:] = inputs[:, :-1] == SEPARATOR_ID
    place = np.arange(inputs.shape[1], dtype=np.int32)
    begun = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    return Batch(
        inputs_BS=inputs,
        targets_BS=np.ascontiguousarray(rows[:, 1:]),
        segments_BS=np.cumsum(starts, axis=1, dtype=np.int32),
        positions_BS=(place - begun).astype(np.int32),
        scored_BS=inputs != SEPARATOR_ID,
        valid_BS=np.ones(inputs.shape, bool),
        position=position,
        domains=domains,
    )


def host_slice(batch: Batch, host: int, num_hosts: int) -> Batch:
    """The part of a global batch that one of `num_hosts` hosts trains on; hosts in order give the whole.

    Raises:
        ValueError: hosts that do not divide the batch.
    """
    num_seqs = len(batch.domains)
    if num_seqs % num_hosts or not 0 <= host < num_hosts:
        raise ValueError(f"host must be in [0, {num_hosts}) and divide {num_seqs} sequences, got {host}")
    share = num_seqs // num_hosts
    return batch.sequences(host * share, (host + 1) * share)
