"""Pains, class F (accounting), the rows of evals: F1, F3, F4."""

import math

import jax
import numpy as np
import pytest

from fanal.data.batches import Batch
from fanal.evals.perplexity import Tally, pack, score
from fanal.train.compile import arrays_of, row_nats
from fanal.train.state import init_state
from tests.worlds.train import DOMAINS, SEQ_TOKENS, MadeEvalSet, tiny_run


def test_f1_a_hundred_nats_over_fifty_bytes_are_2_885_bits_a_byte() -> None:
    tally = Tally(nats=100.0, tokens=20, num_bytes=50)
    assert tally.bits_per_byte == pytest.approx(2.885, abs=5e-4)
    assert tally.byte_perplexity == pytest.approx(7.389, abs=5e-4)
    assert tally.byte_perplexity == pytest.approx(math.exp(2), rel=1e-12)
    assert 2**tally.bits_per_byte == pytest.approx(tally.byte_perplexity, rel=1e-12)


def test_f3_perplexity_comes_from_the_total_of_all_batches() -> None:
    total = Tally(nats=9 * 1.0, tokens=9) + Tally(nats=1 * 3.0, tokens=1)
    assert total.perplexity == pytest.approx(3.320, abs=5e-4)
    assert total.perplexity == pytest.approx(math.exp(1.2), rel=1e-12)


def test_f4_validation_loss_is_nats_over_tokens() -> None:
    assert (Tally(2.0, 1) + Tally(90.0, 9)).loss == pytest.approx(9.2, rel=1e-12)


def test_f4_the_score_of_uneven_batches_is_nats_over_tokens() -> None:
    nats = {1: [2.0], 9: [90.0]}
    eval_set = MadeEvalSet({"verse": 2})

    def counted(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        tokens = next(sizes)
        return np.array(nats[tokens]), np.array([tokens])

    sizes = iter((1, 9))
    assert score(counted, pack(eval_set, 1, SEQ_TOKENS)).by_domain["verse"].loss == pytest.approx(9.2, rel=1e-12)


def test_f4_the_model_s_loss_does_not_move_when_the_eval_batch_size_does() -> None:
    eval_set = MadeEvalSet({"verse": 9, "code": 5, "ledger": 1})
    state = init_state(tiny_run())
    program = jax.jit(row_nats)

    def on_host(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        nats_B, tokens_B = program(state, arrays_of(batch))
        return np.asarray(nats_B), np.asarray(tokens_B)

    found = [score(on_host, pack(eval_set, batch_seqs, SEQ_TOKENS)) for batch_seqs in (1, 4, 7)]
    for other in found[1:]:
        for domain in DOMAINS:
            assert other.by_domain[domain].tokens == found[0].by_domain[domain].tokens
            assert other.by_domain[domain].loss == pytest.approx(found[0].by_domain[domain].loss, rel=1e-6)
        assert other.macro_loss == pytest.approx(found[0].macro_loss, rel=1e-6)
