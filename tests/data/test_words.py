import hashlib

import numpy as np

from fanal.data.words import hash_words, ngrams


def test_a_word_is_hashed_by_blake2b_of_its_folded_form() -> None:
    expected = int.from_bytes(hashlib.blake2b(b"strasse", digest_size=8).digest(), "little")
    assert hash_words(["Straße"]).values.tolist() == [expected]
    assert hash_words(["ﬁne, FINE!"]).values.tolist() == hash_words(["fine fine"]).values.tolist()


def test_every_run_of_words_is_one_ngram_and_none_crosses_documents() -> None:
    grams = ngrams(hash_words(["a b c d", "x", "", "a b c", "c d x"]), 3)
    assert grams.lengths.tolist() == [2, 0, 0, 1, 1]
    assert grams.of(0)[0] == grams.of(3)[0]
    assert len(set(grams.values.tolist())) == 3


def test_order_of_words_matters_and_place_in_the_text_does_not() -> None:
    grams = ngrams(hash_words(["a b c", "c b a", "z a b c"]), 3)
    assert grams.of(0)[0] == grams.of(2)[1] != grams.of(1)[0]


def test_owners_and_parts_follow_the_documents() -> None:
    words = hash_words(["a b", "", "c"])
    assert words.owners().tolist() == [0, 0, 2]
    part = words.take(np.array([2, 0]))
    assert part.of(0).tolist() == words.of(2).tolist()
    assert part.of(1).tolist() == words.of(0).tolist()


def test_nothing_gives_nothing() -> None:
    assert ngrams(hash_words([]), 5).starts.tolist() == [0]
    assert ngrams(hash_words(["a", "b"]), 5).values.tolist() == []
