"""What stood in a batch, and which steps saw a document: answered by arithmetic, not from logs.

Guarantees: every token of every sequence is accounted for by a document and its span; `steps_of_document`
is the exact inverse of `trace`. Costs milliseconds, from the order and the shards' indices alone: neither
tokens nor text are read, and nothing is replayed.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fanal.data.corpus import Corpus
from fanal.data.order import Order
from fanal.data.shards import Index, open_index


@dataclass(frozen=True)
class TracedDocument:
    """A document's part of one sequence."""

    id: str
    first_token: int
    """Its first token here, counted in the document."""
    num_tokens: int
    """Tokens of it among the sequence's inputs, its separator included."""
    at: int
    """Place of that first token in the sequence."""
    whole_tokens: int
    """Tokens of the whole document, its separator included."""


@dataclass(frozen=True)
class TracedSeq:
    """One sequence that a run drew."""

    position: int
    domain: str
    epoch: int
    index: int
    """Which of the domain's sequences."""
    documents: tuple[TracedDocument, ...]


def trace(corpus: Corpus, order: Order, positions: Iterable[int]) -> list[TracedSeq]:
    """What was drawn at `positions`; row s of a run drew range((s − 1) · batch_seqs, s · batch_seqs).

    Raises:
        ValueError: a position outside the run.
    """
    indices: dict[int, Index] = {}
    found: list[TracedSeq] = []
    for position in positions:
        drawn = order.draw(position)
        domain = corpus.domains[drawn.domain]
        if drawn.domain not in indices:
            indices[drawn.domain] = open_index(domain.shard)
        documents = _documents(indices[drawn.domain], drawn.index * corpus.seq_tokens, corpus.seq_tokens)
        found.append(TracedSeq(position, domain.name, drawn.epoch, drawn.index, documents))
    return found


def steps_of_document(corpus: Corpus, order: Order, document: str, batch_seqs: int) -> list[int]:
    """Every step of the run whose inputs held a token of `document`, ascending.

    Raises:
        KeyError: no training document of that id (held-out and removed ones are not trained on).
    """
    name = document.split("/", 1)[0]
    number = [d.name for d in corpus.domains].index(corpus.domain(name).name)
    index = open_index(corpus.domains[number].shard)
    if document not in index.ids:
        raise KeyError(f"{document!r} is no training document of {name}")
    place = index.ids.index(document)
    first, end = int(index.starts[place]), int(index.starts[place + 1])
    last_seq = min((end - 1) // corpus.seq_tokens, corpus.domains[number].num_seqs - 1)
    seqs = range(first // corpus.seq_tokens, last_seq + 1)
    return sorted({p // batch_seqs for seq in seqs for p in order.positions_of(number, seq)})


def _documents(index: Index, first: int, num_tokens: int) -> tuple[TracedDocument, ...]:
    found: list[TracedDocument] = []
    for document in index.documents_in(first, first + num_tokens):
        start, end = int(index.starts[document]), int(index.starts[document + 1])
        begin, stop = max(start, first), min(end, first + num_tokens)
        found.append(TracedDocument(index.ids[document], begin - start, stop - begin, begin - first, end - start))
    return tuple(found)
