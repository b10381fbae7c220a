import time

import numpy as np
import pytest

from fanal.data.batches import BatchSource, host_slice, make_batch
from fanal.data.corpus import Corpus
from fanal.data.order import Order
from fanal.data.shards import open_shard

ARRAYS = ("inputs_BS", "targets_BS", "segments_BS", "positions_BS", "scored_BS", "valid_BS")


def test_segments_positions_and_scores_follow_the_separators() -> None:
    rows = np.array([[5, 6, 0, 7, 0, 0, 8, 9], [0, 1, 2, 3, 4, 5, 6, 0]], np.int32)
    batch = make_batch(rows, position=3, domains=(1, 0))
    assert batch.inputs_BS.tolist() == [[5, 6, 0, 7, 0, 0, 8], [0, 1, 2, 3, 4, 5, 6]]
    assert batch.targets_BS.tolist() == [[6, 0, 7, 0, 0, 8, 9], [1, 2, 3, 4, 5, 6, 0]]
    # The separator ends its document: it belongs to it, and predicts the next one's first token unscored.
    assert batch.segments_BS.tolist() == [[0, 0, 0, 1, 1, 2, 3], [0, 1, 1, 1, 1, 1, 1]]
    assert batch.positions_BS.tolist() == [[0, 1, 2, 0, 1, 0, 0], [0, 0, 1, 2, 3, 4, 5]]
    assert batch.scored_BS.astype(int).tolist() == [[1, 1, 0, 1, 0, 0, 1], [0, 1, 1, 1, 1, 1, 1]]
    assert batch.valid_BS.all()
    assert {getattr(batch, name).dtype for name in ARRAYS[:4]} == {np.dtype(np.int32)}


def test_a_sequence_is_the_stretch_of_the_shard_that_the_order_names(corpus: Corpus, hero_order: Order) -> None:
    batch = BatchSource(corpus, hero_order).batch(20, 6)
    for row in range(6):
        drawn = hero_order.draw(20 + row)
        tokens = open_shard(corpus.domains[drawn.domain].shard, corpus.vocab)
        first = drawn.index * corpus.seq_tokens
        assert batch.inputs_BS[row].tolist() == tokens[first : first + corpus.seq_tokens].tolist()
        assert batch.targets_BS[row].tolist() == tokens[first + 1 : first + corpus.seq_tokens + 1].tolist()
        assert batch.domains[row] == drawn.domain


def test_a_batch_is_the_same_however_it_is_cut(corpus: Corpus, hero_order: Order) -> None:
    source = BatchSource(corpus, hero_order)
    whole = source.batch(0, 24)
    for size in (1, 3, 8):
        parts = [BatchSource(corpus, hero_order).batch(p, size) for p in range(0, 24, size)]
        for name in ARRAYS:
            assert np.array_equal(np.concatenate([getattr(p, name) for p in parts]), getattr(whole, name))
        assert sum((p.domains for p in parts), ()) == whole.domains


def test_tokens_of_each_domain_are_counted_from_the_position_alone(corpus: Corpus, hero_order: Order) -> None:
    source = BatchSource(corpus, hero_order)
    drawn = source.batch(0, 40).domains
    counted = source.domain_tokens(40)
    assert counted == {d.name: drawn.count(i) * corpus.seq_tokens for i, d in enumerate(corpus.domains)}
    assert sum(counted.values()) == 40 * corpus.seq_tokens


def test_hosts_must_divide_the_batch(corpus: Corpus, hero_order: Order) -> None:
    batch = BatchSource(corpus, hero_order).batch(0, 8)
    with pytest.raises(ValueError, match="divide 8 sequences, got 0"):
        host_slice(batch, 0, 3)
    with pytest.raises(ValueError, match=r"host must be in \[0, 2\)"):
        host_slice(batch, 2, 2)


def test_a_batch_takes_less_than_a_millisecond(corpus: Corpus, hero_order: Order) -> None:
    source = BatchSource(corpus, hero_order)
    positions = range(0, hero_order.total_seqs - 8, 8)
    begun = time.process_time()
    for position in positions:
        source.batch(position, 8)
    # Processor time, so that other work on the machine does not count; three times the promise for slow machines.
    assert (time.process_time() - begun) / len(positions) < 0.003
