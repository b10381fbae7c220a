"""Held-out loss: sums by domain over rows of any layout."""

import math

import numpy as np
import pytest

from fanal.data.batches import Batch
from fanal.evals.perplexity import ARRAYS, EvalScore, Tally, pack, score, score_metrics, sum_rows
from fanal.record import metrics
from tests.worlds.train import BYTES_PER_TOKEN, DOMAINS, SEQ_TOKENS, MadeEvalSet, made_row

EVAL_SET = MadeEvalSet({"verse": 9, "code": 5, "ledger": 1})


def row_nats(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """A score that depends on the row alone: each scored token costs a thousandth of its target's id."""
    return (batch.targets_BS * batch.scored_BS).sum(axis=1) / 1000, batch.scored_BS.sum(axis=1)


@pytest.mark.parametrize("batch_seqs", [1, 2, 4, 8, 16])
def test_the_score_is_the_same_in_any_batch_size(batch_seqs: int) -> None:
    found = score(row_nats, pack(EVAL_SET, batch_seqs, SEQ_TOKENS))
    for number, domain in enumerate(DOMAINS):
        first = 1_000_000 * (1 + number)
        rows = np.stack([made_row(first + i) for i in range(EVAL_SET.rows[domain])])
        scored = rows[:, :-1] != 0
        assert found.by_domain[domain].tokens == scored.sum()
        assert found.by_domain[domain].nats == pytest.approx((rows[:, 1:] * scored).sum() / 1000, rel=1e-12)
        assert found.by_domain[domain].num_bytes == BYTES_PER_TOKEN * scored.sum()


@pytest.mark.parametrize(("batch_seqs", "num_batches"), [(1, 15), (8, 2), (15, 1), (16, 1)])
def test_rows_of_several_domains_share_a_batch(batch_seqs: int, num_batches: int) -> None:
    packed = pack(EVAL_SET, batch_seqs, SEQ_TOKENS)
    assert len(packed.batches) == num_batches
    rows = [domain for item in packed.batches for domain in item.rows]
    assert rows == ["verse"] * 9 + ["code"] * 5 + ["ledger"] + [None] * (num_batches * batch_seqs - 15)


def test_every_batch_has_one_shape_and_padding_is_neither_valid_nor_scored() -> None:
    last = pack(EVAL_SET, 8, SEQ_TOKENS).batches[-1]
    for name in ARRAYS:
        assert getattr(last.batch, name).shape == (8, SEQ_TOKENS)
    assert last.rows[-1] is None
    assert not last.batch.valid_BS[-1].any()
    assert not last.batch.scored_BS[-1].any()


def test_macro_weighs_every_domain_the_same() -> None:
    result = EvalScore({"long": Tally(100.0, 100, 300), "short": Tally(3.0, 1, 4)})
    assert result.macro_loss == pytest.approx(2.0)
    assert result.macro_bits_per_byte == pytest.approx((1 / 3 + 3 / 4) / 2 / math.log(2))


def test_a_score_has_a_described_key_for_every_domain_and_the_mean() -> None:
    values = score_metrics("pulse", EvalScore({"a": Tally(2.0, 1, 2), "b": Tally(8.0, 2, 4)}))
    assert values["eval/pulse/a"] == 2.0
    assert values[metrics.PULSE_MACRO] == 3.0
    assert values["eval/pulse_bpb/b"] == pytest.approx(2 / math.log(2))
    assert values["eval/pulse_bpb/macro"] == pytest.approx(1.5 / math.log(2))
    assert all(metrics.describe(key) for key in values)


def test_unscored_positions_add_nothing_whatever_their_loss() -> None:
    losses = np.array([[1.0, np.nan, 2.0], [np.inf, 4.0, 8.0]], np.float32)
    scored = np.array([[True, False, True], [False, True, False]])
    nats_B, tokens_B = sum_rows(losses, scored)
    assert nats_B.tolist() == [3.0, 4.0]
    assert tokens_B.tolist() == [2, 1]
