import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanal.data.clean import exact_duplicates, normalise, normalise_text
from fanal.data.documents import make_document
from tests.worlds.corpus import tiny_corpus


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("page one\x0cpage two", "page one\npage two\n"),
        ("e\u0301", "é\n"),
        ("e\x00\u0301", "é\n"),
        ("a\x00b\x1bc\x7fd\ufeffe", "abcde\n"),
        ("tab\tstays", "tab\tstays\n"),
        ("end \t \nnext", "end\nnext\n"),
        ("a\n\n\n\n\n\nb", "a\n\n\nb\n"),
        ("\n\n  indented\n\n", "  indented\n"),
        ("a\u2028b", "a\u2028b\n"),
        (" \n\t\n", ""),
        ("", ""),
    ],
)
def test_a_text_is_written_in_one_way(text: str, expected: str) -> None:
    assert normalise_text(text) == expected


@settings(database=None, deadline=None, max_examples=300)
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise_text(text)
    assert normalise_text(once) == once


def test_what_is_empty_afterwards_is_removed_and_counted() -> None:
    documents = [make_document("d", name, text)[0] for name, text in [("a", "a"), ("b", " \x00\n"), ("c", "")]]
    kept, removed = normalise(documents)
    assert [(d.id, d.text, d.num_bytes) for d in kept] == [("d/a", "a\n", 2)]
    assert [(r.id, r.bytes, r.cause) for r in removed] == [("d/b", 3, "empty"), ("d/c", 0, "empty")]


@pytest.mark.parametrize("seed", range(5))
def test_of_equal_texts_the_smallest_id_stays_whatever_the_order(seed: int) -> None:
    corpus = tiny_corpus()
    random.Random(seed).shuffle(corpus.documents)
    removed = {r.id: r.because_of for r in exact_duplicates(corpus.documents)}
    groups = [{copy, original} for copy, original in corpus.exact.items()]
    assert removed == {max(g): min(g) for g in groups}


def test_composed_and_decomposed_letters_are_the_same_text() -> None:
    documents = [make_document("d", "a", "caf\u00e9")[0], make_document("d", "b", "cafe\u0301")[0]]
    assert [r.id for r in exact_duplicates(documents)] == ["d/b"]
