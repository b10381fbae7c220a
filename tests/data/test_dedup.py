import random
from collections.abc import Sequence

import numpy as np
import pytest

from fanal.campaign.spec import NearDuplicates
from fanal.data.clean import exact_duplicates
from fanal.data.dedup import BANDS, ROWS, Components, band_keys, chained, jaccard, near_duplicates, signatures
from fanal.data.documents import Document, make_document
from fanal.data.keyed import Stream
from fanal.data.words import Ragged, hash_words, ngrams
from tests.data.golden import minhash_lines, read_golden
from tests.worlds.corpus import tiny_corpus


def without_copies(documents: list[Document]) -> list[Document]:
    gone = {r.id for r in exact_duplicates(documents)}
    return [d for d in documents if d.id not in gone]


def of_words(**words: Sequence[int]) -> list[Document]:
    return [make_document("d", name, " ".join(f"w{n}" for n in numbers))[0] for name, numbers in words.items()]


def removed(documents: list[Document], settings: NearDuplicates | None = None) -> set[str]:
    return {r.id for r in near_duplicates(documents, settings or NearDuplicates()).removed}


def test_signatures_are_the_promised_ones() -> None:
    assert list(minhash_lines()) == read_golden("minhash.txt")


def test_a_signature_does_not_depend_on_its_neighbours() -> None:
    texts = [d.text for d in tiny_corpus().documents]
    all_at_once = signatures(ngrams(hash_words(texts), 5))
    for i in (0, 17, len(texts) - 1):
        assert np.array_equal(signatures(ngrams(hash_words([texts[i]]), 5))[0], all_at_once[i])


def sets_of_similarity(index: float, pairs: int, size: int = 200) -> Ragged:
    """Pairs of sets of random numbers with a given Jaccard index: documents 2i and 2i + 1."""
    rng = np.random.default_rng(1)
    both = round(size * index)
    values = [np.concatenate([rng.integers(0, 2**63, size=size, dtype=np.uint64)]) for _ in range(pairs)]
    own = (size - both) // 2
    parts = [half for v in values for half in (v[: both + own], np.concatenate([v[:both], v[both + own :]]))]
    starts = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    return Ragged(np.concatenate(parts), starts.astype(np.int64))


@pytest.mark.parametrize("index", [0.5, 0.7, 0.8, 0.9])
def test_pairs_become_candidates_as_often_as_theory_says(index: float) -> None:
    pairs = 400
    keys = band_keys(signatures(sets_of_similarity(index, pairs)))
    hits = int(np.any(keys[::2] == keys[1::2], axis=1).sum())
    chance = 1 - (1 - index**ROWS) ** BANDS
    spread = (pairs * chance * (1 - chance)) ** 0.5
    assert abs(hits - pairs * chance) < 4 * spread + 1


def test_the_jaccard_index_is_that_of_sets() -> None:
    one, other = (np.unique(np.array(x, np.uint64)) for x in ([1, 2, 3, 4], [3, 4, 5]))
    assert jaccard(one, other) == 2 / 5
    assert jaccard(one, one[:0]) == 0.0


def test_planted_near_copies_are_found_and_nothing_else() -> None:
    corpus = tiny_corpus()
    documents = without_copies(corpus.documents)
    found = near_duplicates(documents, NearDuplicates())
    pairs = {frozenset((r.id, r.because_of)) for r in found.removed}
    assert pairs == {frozenset(pair) for pair in corpus.near.items()}
    assert all(0.8 <= r.value < 1 for r in found.removed)


@pytest.mark.parametrize("seed", range(5))
def test_the_result_does_not_depend_on_the_order_of_the_documents(seed: int) -> None:
    documents = without_copies(tiny_corpus().documents)
    expected = removed(documents)
    random.Random(seed).shuffle(documents)
    assert removed(documents) == expected


def test_a_document_stays_when_only_a_removed_one_is_like_it() -> None:
    # Single words as n-grams: A = {1..60}, B = {1..80}, C = {21..80} have J = .75, .75, .5, as in the
    # public report of a store that lost three quarters of its sources to connected components.
    settings = NearDuplicates(jaccard=0.7, ngram_words=1)
    a, b, c = range(1, 61), range(1, 81), range(21, 81)
    chain = of_words(a=[*a, *[1] * 60], b=b, c=c)  # `a` is longest: it stays, b goes, c is unlike a
    found = near_duplicates(chain, settings)
    assert {r.id: r.because_of for r in found.removed} == {"d/b": "d/a"}
    assert chained(chain, found.links) == {"d": 2}
    longest_in_the_middle = of_words(a=a, b=b, c=c)
    assert removed(longest_in_the_middle, settings) == {"d/a", "d/c"}


def test_links_join_the_whole_chain_through_what_was_removed() -> None:
    settings = NearDuplicates(jaccard=0.7, ngram_words=1)
    found = near_duplicates(of_words(a=[*range(1, 61), *[1] * 60], b=range(1, 81), c=range(21, 81)), settings)
    components = Components()
    for link in found.links:
        components.join(link.one, link.other)
    assert {components.root(f"d/{name}") for name in "abc"} == {"d/a"}


def test_a_kept_document_is_never_like_a_longer_kept_one() -> None:
    stream = Stream(3)
    base = [stream.below(500) for _ in range(100)]
    texts = {f"v{i:02d}": [w if stream.below(100) > i else 1000 + stream.below(500) for w in base] for i in range(40)}
    documents, settings = of_words(**texts), NearDuplicates(jaccard=0.6, ngram_words=2)
    gone = removed(documents, settings)
    grams = ngrams(hash_words(d.text for d in documents), 2)
    sets = [np.unique(grams.of(i)) for i in range(len(documents))]
    kept = [i for i, d in enumerate(documents) if d.id not in gone]
    alike = [(i, j) for i in kept for j in kept if i < j and jaccard(sets[i], sets[j]) >= 0.6]
    # MinHash may miss a pair (at .7 one in eight); it must not miss many.
    assert 5 < len(gone) < 40
    assert len(alike) <= 3


def test_short_documents_are_left_to_the_exact_hash() -> None:
    assert removed(of_words(a=range(4), b=range(4))) == set()
    assert removed(of_words(a=range(5), b=[*range(5)])) == {"d/b"}


def test_what_was_compared_is_counted() -> None:
    found = near_duplicates(without_copies(tiny_corpus().documents), NearDuplicates())
    assert found.compared == sum(found.histogram) >= len(found.removed)
    assert sum(found.histogram[8:]) == len(found.links)
