from collections import Counter

import numpy as np
import pytest

from fanal.campaign.spec import Mixture, Phase
from fanal.data.mixture import MAX_ERROR, make_shares, make_stretches


def worst_error(weights: list[int], draws: int) -> float:
    shares, total = make_shares(weights), sum(weights)
    counts, worst = [0] * len(weights), 0.0
    for draw in range(draws):
        counts[shares.pick(draw)] += 1
        worst = max(worst, *(abs(c - (draw + 1) * w / total) for c, w in zip(counts, weights, strict=True)))
    return worst


@pytest.mark.parametrize(
    "weights", [[1], [1, 1], [999, 1], [5, 3, 2], [1] * 13, [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89], [100, 1, 1, 1, 50]]
)
def test_counts_never_stray_from_the_weights_by_more_than_the_bound(weights: list[int]) -> None:
    assert worst_error(weights, 2000) < MAX_ERROR


def test_counts_stay_within_the_bound_for_two_hundred_random_cells() -> None:
    rng = np.random.default_rng(0)
    weights = [int(w * 10**9) + 1 for w in rng.dirichlet(np.full(200, 0.3))]
    shares, total = make_shares(weights), sum(weights)
    for draws in (10, 1000, 12_345, 100_000):
        counts = shares.counts(draws, 200)
        assert sum(counts) == draws
        assert max(abs(c - draws * w / total) for c, w in zip(counts, weights, strict=True)) < MAX_ERROR


def test_a_cell_of_two_millionths_is_drawn_when_its_turn_comes() -> None:
    weights = [10**9 - 2158, 2158]
    assert make_shares(weights).counts(49_152, 2) == [49_152, 0]
    assert make_shares(weights).counts(2_000_000, 2) == [1_999_996, 4]


def test_a_thousandth_of_ten_thousand_is_ten() -> None:
    assert make_shares([999, 1]).counts(10_000, 2) == [9990, 10]


def test_picking_and_counting_agree() -> None:
    shares = make_shares([7, 0, 2, 5, 1])
    drawn = Counter(shares.pick(i) for i in range(777))
    assert shares.counts(777, 5) == [drawn[d] for d in range(5)]
    assert drawn[1] == 0


def test_counting_works_at_positions_that_no_memory_could_hold() -> None:
    draws = 10**18 + 3
    counts = make_shares([3, 1]).counts(draws, 2)
    assert sum(counts) == draws
    assert abs(4 * counts[1] - draws) <= 4


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], []])
def test_weights_that_are_none_are_refused(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="non-negative and not all zero"):
        make_shares(weights)


def test_a_phase_ends_at_the_exact_share_that_a_person_wrote() -> None:
    phases = (Phase(0.29, {"a": 1.0}), Phase(0.8, {"a": 0.5, "b": 0.5}), Phase(1.0, {"b": 1.0}))
    stretches = make_stretches(Mixture(phases), ("a", "b"), 100)
    # 0.29 * 100 is 28.999999999999996 in floating point.
    assert [(s.first_seq, s.end_seq) for s in stretches] == [(0, 29), (29, 80), (80, 100)]
    assert stretches[0].weights == (1.0, 0.0)


def test_a_phase_too_short_for_a_sequence_is_left_out() -> None:
    phases = (Phase(0.1, {"a": 1.0}), Phase(1.0, {"b": 1.0}))
    stretches = make_stretches(Mixture(phases), ("a", "b"), 5)
    assert [(s.first_seq, s.end_seq, s.weights) for s in stretches] == [(0, 5, (0.0, 1.0))]
