"""The two frozen eval sets as batches: `full`, all held-out text, and `pulse`, a small part of it.

Guarantees: held-out documents lie end to end as in training; each of their tokens but the first of all
is a target exactly once in `full`, and is scored unless it begins a document. `pulse` takes rows spread
evenly over `full` and scores exactly the campaign's number of tokens in each domain. Bytes are those of
the scored tokens, each byte once (the separator has none). Nothing depends on the batch size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fanal.data.batches import Batch, Bools, Ints, make_batch
from fanal.data.corpus import Corpus, HeldOut
from fanal.data.shards import Tokens, open_index, open_shard
from fanal.data.store import sha256_hex
from fanal.data.tokens import SEPARATOR_ID, Tokenizer
from fanal.errors import DataError

EVAL_SETS = ("pulse", "full")


@dataclass(frozen=True)
class Rows:
    """One domain's part of an eval set."""

    tokens: Ints
    """Rows of seq_tokens + 1 tokens."""
    scored: Bools
    """Which of each row's seq_tokens predictions count."""
    valid: Bools
    """Which of each row's inputs are real."""
    first: NDArray[np.int64]
    """Place of each row's first token among the domain's held-out tokens."""

    @property
    def scored_tokens(self) -> int:
        return int(np.count_nonzero(self.scored))

    def bytes_scored(self, token_bytes: NDArray[np.int64]) -> int:
        """UTF-8 bytes of the scored tokens."""
        return int(token_bytes[self.tokens[:, 1:][self.scored]].sum())

    def take(self, which: NDArray[np.int64] | slice) -> "Rows":
        """Some of the rows."""
        return Rows(self.tokens[which], self.scored[which], self.valid[which], self.first[which])

    def sha256(self) -> str:
        """Of the tokens and of which are scored."""
        return sha256_hex(self.tokens.astype("<i4").tobytes() + np.packbits(self.scored).tobytes())


@dataclass(frozen=True)
class EvalSet:
    """One frozen eval set."""

    name: str
    seq_tokens: int
    rows: Mapping[str, Rows]
    """By domain, in the corpus's order."""
    token_bytes: NDArray[np.int64]

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(self.rows)

    def batches(self, domain: str, batch_seqs: int, seq_tokens: int) -> Iterator[Batch]:
        """The domain's rows in batches of `batch_seqs`; the last is filled with rows of padding.

        Raises:
            ValueError: another length than the set was frozen at.
        """
        if seq_tokens != self.seq_tokens:
            raise ValueError(f"seq_tokens must be {self.seq_tokens}, as {self.name} was frozen, got {seq_tokens}")
        rows, number = self.rows[domain], self.domains.index(domain)
        for first in range(0, len(rows.tokens), batch_seqs):
            yield _padded(rows.take(slice(first, first + batch_seqs)), first, number, batch_seqs)

    def bytes_scored(self, domain: str) -> int:
        """UTF-8 bytes of the domain's scored tokens."""
        return self.rows[domain].bytes_scored(self.token_bytes)

    def tokens_scored(self, domain: str) -> int:
        """Number of the domain's scored tokens."""
        return self.rows[domain].scored_tokens


def load_eval_sets(corpus: Corpus) -> dict[str, EvalSet]:
    """The eval sets of a built corpus, by name.

    Raises:
        DataError: a shard of held-out text that is missing or of the wrong kind.
    """
    token_bytes = np.array(Tokenizer(corpus.tokenizer_path).token_bytes(), np.int64)
    full = {
        d.name: full_rows(open_shard(held_out_shard(d.shard), corpus.vocab), corpus.seq_tokens) for d in corpus.domains
    }
    pulse = {name: pulse_rows(name, rows, corpus.pulse_tokens) for name, rows in full.items()}
    sets = {"pulse": pulse, "full": full}
    return {name: EvalSet(name, corpus.seq_tokens, sets[name], token_bytes) for name in EVAL_SETS}


def describe_evals(corpus: Corpus) -> Iterator[HeldOut]:
    """What each eval set holds of each domain."""
    for name, eval_set in load_eval_sets(corpus).items():
        for domain, rows in eval_set.rows.items():
            index = open_index(held_out_shard(corpus.domain(domain).shard))
            targets = (rows.first[:, None] + 1 + np.arange(corpus.seq_tokens))[rows.scored]
            documents = np.unique(np.searchsorted(index.starts, targets, "right"))
            yield HeldOut(
                eval_set=name,
                name=domain,
                documents=len(documents),
                bytes=eval_set.bytes_scored(domain),
                tokens=eval_set.tokens_scored(domain),
                sha256=rows.sha256(),
            )


def held_out_shard(shard: Path) -> Path:
    """Where the held-out tokens of the domain lie whose training tokens are in `shard`."""
    return shard.with_name(f"{shard.stem}.held_out.npy")


def full_rows(tokens: Tokens, seq_tokens: int) -> Rows:
    """All of a domain's held-out tokens in rows; the last row is filled with padding."""
    num_rows = -(-(len(tokens) - 1) // seq_tokens)
    flat = np.full(num_rows * seq_tokens + 1, SEPARATOR_ID, np.int32)
    flat[: len(tokens)] = tokens
    first = np.arange(num_rows) * seq_tokens
    rows = flat[first[:, None] + np.arange(seq_tokens + 1)]
    real = first[:, None] + np.arange(seq_tokens) < len(tokens) - 1
    return Rows(rows, real & (rows[:, :-1] != SEPARATOR_ID), real, first)


def pulse_rows(domain: str, full: Rows, num_tokens: int) -> Rows:
    """Rows of `full`, evenly spread, with exactly `num_tokens` scored predictions; the last row's surplus is not.

    Raises:
        DataError: too little held-out text.
    """
    have = full.scored_tokens
    if have < num_tokens:
        raise DataError(f"domain {domain}: pulse wants {num_tokens} scored tokens, {have} are held out")
    num_rows = len(full.tokens)
    for count in range(1, num_rows + 1):
        chosen = (2 * np.arange(count) + 1) * num_rows // (2 * count)
        running = np.cumsum(full.scored[chosen]).reshape(count, -1)
        if running[-1, -1] >= num_tokens:
            rows = full.take(chosen)
            return replace(rows, scored=rows.scored & (running <= num_tokens))
    raise AssertionError("all rows together hold enough")


def _padded(rows: Rows, first: int, domain: int, batch_seqs: int) -> Batch:
    lack = batch_seqs - len(rows.tokens)
    tokens = np.pad(rows.tokens, ((0, lack), (0, 0)), constant_values=SEPARATOR_ID)
    batch = make_batch(tokens, first, (domain,) * len(rows.tokens) + (-1,) * lack)
    scored, valid = (np.pad(flags, ((0, lack), (0, 0)), constant_values=False) for flags in (rows.scored, rows.valid))
    return replace(batch, scored_BS=scored, valid_BS=valid)
