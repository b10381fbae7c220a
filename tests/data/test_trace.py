import pytest

from fanal.data.batches import BatchSource
from fanal.data.corpus import Corpus
from fanal.data.heldout import held_out_shard
from fanal.data.order import Order
from fanal.data.shards import open_index, open_shard
from fanal.data.trace import steps_of_document, trace


def test_a_trace_names_the_document_of_every_token_of_a_batch(corpus: Corpus, hero_order: Order) -> None:
    batch = BatchSource(corpus, hero_order).batch(12, 8)
    for row, traced in enumerate(trace(corpus, hero_order, range(12, 20))):
        domain = corpus.domains[batch.domains[row]]
        tokens, index = open_shard(domain.shard, corpus.vocab), open_index(domain.shard)
        assert (traced.position, traced.domain) == (12 + row, domain.name)
        assert sum(d.num_tokens for d in traced.documents) == corpus.seq_tokens
        for number, document in enumerate(traced.documents):
            start = int(index.starts[index.ids.index(document.id)]) + document.first_token
            here = slice(document.at, document.at + document.num_tokens)
            assert batch.inputs_BS[row][here].tolist() == tokens[start : start + document.num_tokens].tolist()
            assert set(batch.segments_BS[row][here].tolist()) == {number}


def test_the_steps_of_a_document_are_those_whose_trace_names_it(corpus: Corpus, hero_order: Order) -> None:
    batch_seqs, seen = 4, dict[str, set[int]]()
    for traced in trace(corpus, hero_order, range(hero_order.total_seqs)):
        for document in traced.documents:
            seen.setdefault(document.id, set()).add(traced.position // batch_seqs)
    for domain in corpus.domains:
        for own in open_index(domain.shard).ids[::15]:
            assert steps_of_document(corpus, hero_order, own, batch_seqs) == sorted(seen.get(own, ()))


def test_a_held_out_document_was_in_no_step_and_says_so(corpus: Corpus, hero_order: Order) -> None:
    held = open_index(held_out_shard(corpus.domain("verse").shard)).ids[0]
    with pytest.raises(KeyError, match="is no training document of verse"):
        steps_of_document(corpus, hero_order, held, 4)
    with pytest.raises(KeyError, match="the corpus holds verse, code, ledger"):
        steps_of_document(corpus, hero_order, "prose/x", 4)
