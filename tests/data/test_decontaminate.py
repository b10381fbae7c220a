import pytest

from fanal.campaign.spec import Decontaminate
from fanal.data.decontaminate import Decontaminated, decontaminate
from fanal.data.documents import Document, make_document
from tests.worlds.corpus import tiny_corpus


def words(first: int, end: int) -> str:
    return " ".join(f"w{i}" for i in range(first, end))


def documents(domain: str, *texts: str) -> list[Document]:
    return [make_document(domain, f"n{i}", text)[0] for i, text in enumerate(texts)]


def run(train: list[Document], held: list[Document], share: float = 0.5) -> Decontaminated:
    return decontaminate(train, held, Decontaminate(share=share))


def test_every_held_out_text_put_into_training_word_for_word_is_found() -> None:
    held = tiny_corpus().documents[:30]
    train = documents("train", *("before " * 50 + d.text.upper() + " after" for d in held))
    found = run(train, held)
    assert {r.id for r in found.removed} == {d.id for d in train}
    assert found.left_share == {"prose": 0.0}


def test_the_excerpts_that_were_planted_go_and_nothing_else() -> None:
    corpus = tiny_corpus()
    planted = {*corpus.exact, *corpus.near}
    held = [corpus.one(own) for own in corpus.excerpts.values()]
    train = [d for d in corpus.documents if d not in held and d.id not in planted]
    assert {r.id: r.because_of for r in run(train, held).removed} == dict(corpus.excerpts)


@pytest.mark.parametrize(("shared_grams", "goes"), [(49, False), (50, True), (51, True)])
def test_the_share_is_of_one_held_out_documents_ngrams(shared_grams: int, goes: bool) -> None:
    held = documents("held", words(0, 112))  # 100 n-grams of 13 words
    train = documents("train", words(0, shared_grams + 12) + " " + words(1000, 1100))
    found = run(train, held)
    assert bool(found.removed) == goes
    assert found.touched_train == {"train": 1}
    assert found.touched_held == {"held": 1}
    assert found.left_share == {"held": 0.0 if goes else shared_grams / 100}


def test_shares_of_several_held_out_documents_do_not_add_up() -> None:
    held = documents("held", words(0, 112), words(200, 312))
    train = documents("train", words(0, 52) + " x " + words(200, 252))
    assert run(train, held).removed == []


def test_repeats_inside_a_document_count_once() -> None:
    held = documents("held", (words(0, 13) + " ") * 30 + words(100, 300))
    train = documents("train", (words(0, 13) + " ") * 30)
    assert run(train, held).removed == []


def test_short_held_out_documents_are_matched_whole_from_five_words_on() -> None:
    held = documents("held", words(0, 5), words(20, 24), words(40, 52))
    train = documents("train", "x " + words(0, 5), words(20, 24), words(40, 51), words(40, 52) + " y", words(0, 4))
    assert [(r.id, r.because_of) for r in run(train, held).removed] == [
        ("train/n0", "held/n0"),
        ("train/n3", "held/n2"),
    ]


def test_a_text_in_two_held_out_documents_counts_for_both() -> None:
    held = documents("held", words(0, 40), words(0, 40) + " z")
    found = run(documents("train", words(0, 40)), held)
    assert found.touched_held == {"held": 2}
    assert found.removed[0].value == 1.0


def test_nothing_in_common_is_nothing_to_do() -> None:
    found = run(documents("train", words(0, 50)), documents("held", words(100, 150)))
    assert (found.removed, found.touched_train, found.touched_held) == ([], {}, {})
    assert run([], documents("held", words(0, 50))).removed == []
