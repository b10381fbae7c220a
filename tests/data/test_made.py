import re

import pytest

from fanal.data.made import MAKERS, NUM_COPIES, made_code, made_ledger, made_verse
from fanal.data.words import hash_words, ngrams


@pytest.mark.parametrize("maker", MAKERS)
def test_there_are_hundreds_of_texts_and_more_than_120_kilobytes(maker: str) -> None:
    texts = list(MAKERS[maker]())
    assert len({t.name for t in texts}) == len(texts) > 400
    assert sum(len(t.text.encode()) for t in texts) > 120_000


@pytest.mark.parametrize("maker", MAKERS)
def test_copies_are_planted_and_others_differ(maker: str) -> None:
    texts = list(MAKERS[maker]())
    assert len(texts) - len({t.text for t in texts}) == NUM_COPIES


def test_generated_code_is_python_that_runs_and_whose_assertions_hold() -> None:
    for text in list(made_code())[:400]:
        exec(compile(text.text, text.name, "exec"), {})


def test_ledgers_add_up() -> None:
    for text in list(made_ledger())[:400]:
        rows = re.findall(r"^(\d+) .* at (\d+) make (\d+), in all (\d+)$", text.text, re.M)
        total = 0
        for count, price, product, running in rows:
            assert int(count) * int(price) == int(product)
            total += int(product)
            assert int(running) == total
        assert f"owes {total}." in text.text


def test_verses_rhyme() -> None:
    for text in list(made_verse())[:400]:
        ends = re.findall(r"(\w+)[;.]$", text.text, re.M)
        assert len(ends) % 2 == 0
        assert all(a != b for a, b in zip(ends[::2], ends[1::2], strict=True))


def test_excerpts_hold_more_than_half_of_another_text() -> None:
    texts = {t.name: t.text for t in made_verse()}
    grams = ngrams(hash_words([texts["verse-001"], texts["verse-excerpt-00"]]), 13)
    own, excerpt = set(grams.of(0).tolist()), set(grams.of(1).tolist())
    assert len(own & excerpt) > 0.5 * len(own)
