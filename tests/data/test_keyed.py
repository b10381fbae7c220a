from collections import Counter
from itertools import pairwise

import pytest

from fanal.data.keyed import Permutation, Stream, key64, mix64


def test_splitmix_gives_the_published_first_values_of_seed_zero() -> None:
    # Vigna's splitmix64.c with x = 0.
    golden = 0x9E3779B97F4A7C15
    assert [mix64(0), mix64(golden)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_the_hash_of_a_name_is_pinned_and_separates_its_parts() -> None:
    assert key64("a", "bc") != key64("ab", "c")
    assert key64("sample", "prose/t00") == 10730283297687985069
    assert key64("epoch", 1) == key64("epoch", "1")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 64, 100, 1009])
def test_a_permutation_hits_every_place_once_and_is_undone_by_its_inverse(size: int) -> None:
    shuffle = Permutation(size, key=5)
    images = [shuffle.forward(i) for i in range(size)]
    assert sorted(images) == list(range(size))
    assert [shuffle.inverse(i) for i in images] == list(range(size))


def test_a_permutation_of_a_billion_needs_no_memory() -> None:
    shuffle = Permutation(10**9 + 7, key=1)
    assert shuffle.inverse(shuffle.forward(123_456_789)) == 123_456_789


def test_permutations_send_each_place_everywhere_about_equally_often() -> None:
    size, keys = 10, 4000
    for place in (0, 4, 9):
        hits = Counter(Permutation(size, key64("k", k)).forward(place) for k in range(keys))
        # 9 degrees of freedom: the 99.9 % point of chi-squared is 27.9.
        assert sum((hits[i] - keys / size) ** 2 / (keys / size) for i in range(size)) < 27.9


def test_neighbours_do_not_stay_neighbours() -> None:
    shuffle = Permutation(5000, key=3)
    images = [shuffle.forward(i) for i in range(5000)]
    close = sum(abs(a - b) < 50 for a, b in pairwise(images))
    assert 60 < close < 140  # 2 % of 4,999 are expected: 99 ± 10


def test_a_stream_is_even_and_the_same_for_the_same_key() -> None:
    first, second = Stream(9), Stream(9)
    drawn = [first.below(6) for _ in range(6000)]
    assert drawn == [second.below(6) for _ in range(6000)]
    assert all(850 < n < 1150 for n in Counter(drawn).values())
