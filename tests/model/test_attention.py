"""`fanal/model/attention.py`: what is seen, how it is turned and mixed."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.attention import attend, rotate, rotation, sight
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import NO_BIAS, SEQ_TOKENS, SHAPE, logits_of, quiet_model, small_batch

CLOSE = REASSOCIATED["float32"]


def masks(window_tokens: int) -> tuple[np.ndarray, np.ndarray]:
    batch = small_batch(padded=True)
    shape = replace(SHAPE, window_tokens=window_tokens)
    seen = sight(batch.segments_BS, batch.positions_BS, batch.valid_BS, shape, jnp.dtype("float32"))
    return np.asarray(seen.windowed_BSS), np.asarray(seen.full_BSS)


@pytest.mark.parametrize("window_tokens", [1, 4, 12, 100])
def test_every_pair_is_seen_or_not_by_the_rule(window_tokens: int) -> None:
    batch = small_batch(padded=True)
    windowed, full = masks(window_tokens)
    segments, valid = np.asarray(batch.segments_BS), np.asarray(batch.valid_BS)
    for b, i, j in np.ndindex(full.shape):
        inside = j <= i and segments[b, i] == segments[b, j] and valid[b, i] == valid[b, j]
        assert full[b, i, j] == inside
        assert windowed[b, i, j] == (inside and i - j < window_tokens)


def test_every_position_sees_itself_padding_too() -> None:
    for mask in masks(1):
        assert mask[:, np.arange(SEQ_TOKENS), np.arange(SEQ_TOKENS)].all()


def test_rotation_is_half_split_on_the_leading_components() -> None:
    shape = replace(SHAPE, head_size=6, rotary_size=4, rope_theta=100.0)
    x = jnp.arange(1.0, 7.0).reshape(1, 1, 1, 6)
    found = rotate(x, rotation(jnp.array([[3]]), shape, jnp.dtype("float32")))[0, 0, 0]
    a, b = 3.0, 0.3  # 3 · 100^0 and 3 · 100^(−1/2)
    expected = [
        1 * np.cos(a) - 3 * np.sin(a),
        2 * np.cos(b) - 4 * np.sin(b),
        3 * np.cos(a) + 1 * np.sin(a),
        4 * np.cos(b) + 2 * np.sin(b),
        5,
        6,
    ]
    assert_close(found, np.array(expected), CLOSE)


def test_a_full_layer_and_position_zero_turn_nothing() -> None:
    x = jnp.arange(1.0, 7.0).reshape(1, 1, 1, 6)
    turned = rotation(jnp.array([[7]]), SHAPE, jnp.dtype("float32"))
    assert_close(rotate(x, turned.unless(jnp.array(True))), x, EXACT)
    assert_close(rotate(x, rotation(jnp.array([[0]]), SHAPE, jnp.dtype("float32"))), x, EXACT)
    assert not np.array_equal(rotate(x, turned.unless(jnp.array(False))), x)


def test_query_heads_share_their_groups_key_and_value() -> None:
    values = jnp.stack([jnp.full((1, 3, 6), 1.0), jnp.full((1, 3, 6), 2.0)], axis=2)  # two key heads
    out = attend(jnp.ones((1, 3, 4, 6)), jnp.ones((1, 3, 2, 6)), values, jnp.ones((1, 3, 3), bool))
    assert_close(out[0, 0].reshape(4, 6)[:, 0], np.array([1.0, 1.0, 2.0, 2.0]), CLOSE)


def test_weights_are_the_softmax_of_scores_over_root_head_size() -> None:
    q = jnp.array([2.0, 0.0, 0.0, 0.0]).reshape(1, 1, 1, 4)
    k = jnp.array([[3.0, 0, 0, 0], [1.0, 0, 0, 0], [9.0, 0, 0, 0]]).reshape(1, 3, 1, 4)
    v = jnp.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]).reshape(1, 3, 1, 4)
    out = attend(q, k, v, jnp.array([[[True, True, False]]]))[0, 0]
    e = np.exp([3.0, 1.0])
    assert_close(out, np.array([*(e / e.sum()), 0, 0]), CLOSE)


@pytest.mark.parametrize("border_row", [0, 1])
def test_changing_one_document_changes_another_by_exactly_nothing(border_row: int) -> None:
    batch = small_batch()
    first = np.asarray(batch.segments_BS) == 0
    first[1 - border_row] = False
    other = replace(batch, inputs_BS=jnp.where(first, (batch.inputs_BS + 7) % SHAPE.vocab, batch.inputs_BS))
    before, after = (logits_of(quiet_model(), b, NO_BIAS) for b in (batch, other))
    assert_close(before[~first], after[~first], EXACT)
    assert not np.array_equal(before[first], after[first])


def test_changing_the_last_token_changes_no_earlier_logits() -> None:
    batch = small_batch()
    other = replace(batch, inputs_BS=batch.inputs_BS.at[:, -1].add(1))
    before, after = (logits_of(quiet_model(), b, NO_BIAS) for b in (batch, other))
    assert_close(before[:, :-1], after[:, :-1], EXACT)
    assert not np.array_equal(before[:, -1], after[:, -1])
