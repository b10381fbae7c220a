"""Held-out loss: nats over tokens, summed by domain, never a mean of means.

Guarantees that a score does not depend on how rows were put into batches, as long as the scoring of a row
does not; that perplexity comes from the total; that bits per byte counts the bytes of the scored tokens.
Costs one forward pass a batch of fixed shape; rows of several domains share a batch, so that a small set
wastes no rows. It averages domains only in `macro`, each domain weighing the same.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

from fanal.data.batches import Batch
from fanal.record import metrics

MACRO = "macro"
ARRAYS = ("inputs_BS", "targets_BS", "segments_BS", "positions_BS", "scored_BS", "valid_BS")


@dataclass(frozen=True)
class Tally:
    """Nats, scored tokens and their bytes; adds up exactly over batches."""

    nats: float
    tokens: int
    num_bytes: int = 0
    """UTF-8 bytes of the scored tokens."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.nats + other.nats, self.tokens + other.tokens, self.num_bytes + other.num_bytes)

    @property
    def loss(self) -> float:
        """Nats per token."""
        return self.nats / self.tokens

    @property
    def perplexity(self) -> float:
        return math.exp(self.loss)

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / self.num_bytes

    @property
    def byte_perplexity(self) -> float:
        return math.exp(self.nats / self.num_bytes)


@dataclass(frozen=True)
class EvalScore:
    """The tallies of one eval set, by domain in the corpus's order."""

    by_domain: Mapping[str, Tally]

    @property
    def macro_loss(self) -> float:
        """Mean over domains of nats per token."""
        return math.fsum(tally.loss for tally in self.by_domain.values()) / len(self.by_domain)

    @property
    def macro_bits_per_byte(self) -> float:
        """Mean over domains of bits per byte."""
        return math.fsum(tally.bits_per_byte for tally in self.by_domain.values()) / len(self.by_domain)


def score_metrics(name: str, score: EvalScore) -> dict[str, float]:
    """A score under the record's keys, nats per token and bits per byte, by domain and as the macro mean."""
    losses = {domain: tally.loss for domain, tally in score.by_domain.items()} | {MACRO: score.macro_loss}
    bits = {domain: tally.bits_per_byte for domain, tally in score.by_domain.items()}
    bits[MACRO] = score.macro_bits_per_byte
    return {metrics.eval_loss(name, domain): value for domain, value in losses.items()} | {
        metrics.eval_bits_per_byte(name, domain): value for domain, value in bits.items()
    }


class EvalSet(Protocol):
    """The part of `fanal.data.heldout.EvalSet` that scoring needs."""

    @property
    def domains(self) -> tuple[str, ...]: ...

    def batches(self, domain: str, batch_seqs: int, seq_tokens: int) -> Iterator[Batch]: ...

    def bytes_scored(self, domain: str) -> int: ...


@dataclass(frozen=True)
class PackedBatch:
    """A batch whose rows come from several domains."""

    batch: Batch
    rows: tuple[str | None, ...]
    """The domain of each row; None for padding."""


@dataclass(frozen=True)
class PackedSet:
    """An eval set laid out once in batches of one shape, for the many times it is scored."""

    batches: tuple[PackedBatch, ...]
    num_bytes: Mapping[str, int]
    """UTF-8 bytes of the scored tokens, by domain."""


RowNats = Callable[[Batch], tuple[ArrayLike, ArrayLike]]
"""Nats and number of scored tokens of each row of a batch; they may still be on the device."""


def pack(eval_set: EvalSet, batch_seqs: int, seq_tokens: int) -> PackedSet:
    """Lay the rows of all domains one after the other into batches of `batch_seqs`, the last one padded."""
    rows = [(domain, row) for domain in eval_set.domains for row in eval_set.batches(domain, 1, seq_tokens)]
    groups = [rows[i : i + batch_seqs] for i in range(0, len(rows), batch_seqs)]
    batches = tuple(_stack(group, batch_seqs) for group in groups)
    return PackedSet(batches, {domain: eval_set.bytes_scored(domain) for domain in eval_set.domains})


def score(row_nats: RowNats, packed: PackedSet) -> EvalScore:
    """Score every row of an eval set and add up by domain, in double precision."""
    tallies = {domain: Tally(0.0, 0, num_bytes) for domain, num_bytes in packed.num_bytes.items()}
    results = [row_nats(item.batch) for item in packed.batches]  # all are given to the device before the first is read
    for item, (nats_B, tokens_B) in zip(packed.batches, results, strict=True):
        for domain, nats, tokens in zip(item.rows, np.asarray(nats_B), np.asarray(tokens_B), strict=True):
            if domain is not None:
                tallies[domain] += Tally(float(nats), int(tokens))
    return EvalScore(tallies)


def sum_rows(
    losses_BS: Float[Array, "B S"], scored_BS: Bool[Array, "B S"]
) -> tuple[Float[Array, " B"], Int[Array, " B"]]:
    """Losses of the scored positions and their number, summed over each row."""
    return jnp.where(scored_BS, losses_BS, 0.0).sum(axis=1), scored_BS.sum(axis=1)


def _stack(group: list[tuple[str, Batch]], batch_seqs: int) -> PackedBatch:
    short = batch_seqs - len(group)

    def column(name: str) -> np.ndarray:
        stacked = np.concatenate([getattr(row, name) for _, row in group])
        return np.pad(stacked, ((0, short), (0, 0)))

    arrays = {name: column(name) for name in ARRAYS}
    batch = Batch(**arrays, position=0, domains=())
    return PackedBatch(batch, (*(domain for domain, _ in group), *(None,) * short))
