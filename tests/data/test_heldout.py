from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fanal.data.corpus import Corpus
from fanal.data.heldout import full_rows, held_out_shard, load_eval_sets, pulse_rows
from fanal.data.shards import open_index, open_shard
from fanal.data.tokens import Tokenizer
from fanal.errors import DataError


def test_full_scores_every_token_once_but_the_first_of_each_document() -> None:
    tokens = np.array([5, 6, 0, 7, 8, 9, 0, 1, 0], np.uint16)
    rows = full_rows(tokens, 3)
    assert rows.tokens.tolist() == [[5, 6, 0, 7], [7, 8, 9, 0], [0, 1, 0, 0]]
    assert rows.scored.astype(int).tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 0]]
    assert rows.valid.astype(int).tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 0]]
    assert rows.tokens[:, 1:][rows.scored].tolist() == [6, 0, 8, 9, 0, 0]


def test_bytes_scored_are_those_of_the_texts_without_first_tokens(corpus: Corpus) -> None:
    tokenizer = Tokenizer(corpus.tokenizer_path)
    token_bytes = tokenizer.token_bytes()
    full = load_eval_sets(corpus)["full"]
    for domain in corpus.domains:
        shard = held_out_shard(domain.shard)
        tokens, starts = open_shard(shard, corpus.vocab), open_index(shard).starts
        texts = [tokenizer.decode(tokens[a:b].tolist()) for a, b in pairwise(starts)]
        first = sum(token_bytes[t] for t in tokens[starts[:-1]])
        assert full.bytes_scored(domain.name) == sum(len(t.encode()) for t in texts) - first
        assert full.bytes_scored(domain.name) >= 2000


def test_pulse_scores_exactly_what_was_asked_spread_over_full(corpus: Corpus) -> None:
    sets = load_eval_sets(corpus)
    for domain in sets["pulse"].domains:
        pulse, full = (sets[name].rows[domain] for name in ("pulse", "full"))
        assert pulse.scored_tokens == corpus.pulse_tokens == 64
        places = [full.first.tolist().index(first) for first in pulse.first]
        assert places == sorted(set(places))
        assert places[-1] > len(full.tokens) // 2
        for row, place in enumerate(places):
            assert np.array_equal(pulse.tokens[row], full.tokens[place])
            assert not (pulse.scored[row] & ~full.scored[place]).any()


@pytest.mark.parametrize("batch_seqs", [1, 4, 7, 64])
def test_the_batch_size_changes_nothing_that_is_scored(corpus: Corpus, batch_seqs: int) -> None:
    for eval_set in load_eval_sets(corpus).values():
        for domain in eval_set.domains:
            batches = list(eval_set.batches(domain, batch_seqs, corpus.seq_tokens))
            assert {b.inputs_BS.shape for b in batches} == {(batch_seqs, corpus.seq_tokens)}
            scored = np.concatenate([b.targets_BS[b.scored_BS] for b in batches])
            rows = eval_set.rows[domain]
            assert scored.tolist() == rows.tokens[:, 1:][rows.scored].tolist()
            assert not any((b.scored_BS & ~b.valid_BS).any() for b in batches)


def test_padding_is_not_valid_and_each_pad_is_alone(corpus: Corpus) -> None:
    batch = list(load_eval_sets(corpus)["pulse"].batches("verse", 8, corpus.seq_tokens))[-1]
    pads = [row for row in range(8) if batch.domains[row] == -1]
    assert pads
    for row in pads:
        assert not batch.valid_BS[row].any()
        assert not batch.scored_BS[row].any()
        assert batch.segments_BS[row].tolist() == list(range(corpus.seq_tokens))
        assert not batch.positions_BS[row].any()


def test_another_length_than_the_frozen_one_is_refused(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="seq_tokens must be 32, as pulse was frozen, got 64"):
        next(load_eval_sets(corpus)["pulse"].batches("verse", 4, 64))


def test_too_little_held_out_text_for_pulse_is_an_error(corpus: Corpus) -> None:
    rows = load_eval_sets(corpus)["full"].rows["verse"]
    with pytest.raises(DataError, match=r"domain verse: pulse wants 1000000 scored tokens, \d+ are held out"):
        pulse_rows("verse", rows, 1_000_000)
    everything = pulse_rows("verse", rows, rows.scored_tokens)
    assert np.array_equal(everything.scored, rows.scored)


def test_what_the_corpus_says_of_its_eval_sets_is_what_they_hold(corpus: Corpus) -> None:
    sets = load_eval_sets(corpus)
    for told in corpus.evals:
        rows = sets[told.eval_set].rows[told.name]
        assert (told.tokens, told.bytes) == (rows.scored_tokens, sets[told.eval_set].bytes_scored(told.name))
        assert told.sha256 == rows.sha256()
        assert 1 <= told.documents <= len(open_index(held_out_shard(corpus.domain(told.name).shard)).ids)
    full = [e for e in corpus.evals if e.eval_set == "full"]
    assert [e.documents for e in full] == [len(open_index(held_out_shard(d.shard)).ids) for d in corpus.domains]


def test_the_hash_of_an_eval_set_sees_tokens_and_what_is_scored(corpus: Corpus) -> None:
    rows = load_eval_sets(corpus)["pulse"].rows["code"]
    other_tokens, other_scored = rows.tokens.copy(), rows.scored.copy()
    other_tokens[0, 0] ^= 1
    other_scored[0, 0] ^= True
    hashes = {rows.sha256(), replace(rows, tokens=other_tokens).sha256(), replace(rows, scored=other_scored).sha256()}
    assert len(hashes) == 3
