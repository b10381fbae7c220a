import random

import pytest

from fanal.data.dedup import Link
from fanal.data.documents import Document, make_document
from fanal.data.split import FIRST_TOKEN_BYTES, group, held_out
from fanal.errors import DataError
from tests.worlds.corpus import DOMAINS, tiny_corpus


def pieces(works: int, per_work: int) -> list[Document]:
    return [
        make_document("speech", f"w{w:02d}#{p}", f"work {w} piece {p} " * 20, work=f"w{w:02d}")[0]
        for w in range(works)
        for p in range(per_work)
    ]


def test_every_domain_gives_enough_to_score_after_first_tokens() -> None:
    held = held_out(tiny_corpus().documents, [], 4000)
    for domain in DOMAINS:
        mine = [d.num_bytes - FIRST_TOKEN_BYTES for d in held if d.domain == domain]
        assert 4000 <= sum(mine) < 4000 + max(mine)


def test_pieces_of_a_work_stay_together() -> None:
    documents = pieces(40, 3)
    held = {d.id for d in held_out(documents, [], 6000)}
    for work in {d.work for d in documents}:
        assert len({d.id in held for d in documents if d.work == work}) == 1


def test_linked_documents_stay_together_even_through_one_that_is_gone() -> None:
    documents = tiny_corpus().documents
    links = [Link(f"prose/t{i:02d}", f"gone/{i}", 0.9) for i in range(40)]
    links += [Link(f"gone/{i}", f"code/t{i:02d}", 0.9) for i in range(40)]
    held = {d.id for d in held_out(documents, links, 4000)}
    assert all((f"prose/t{i:02d}" in held) == (f"code/t{i:02d}" in held) for i in range(40))
    assert held


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_does_not_depend_on_the_order_of_the_documents(seed: int) -> None:
    documents = tiny_corpus().documents
    expected = held_out(documents, [], 4000)
    random.Random(seed).shuffle(documents)
    assert held_out(documents, [], 4000) == expected


def test_a_group_of_more_than_a_quarter_of_the_need_is_passed_over() -> None:
    documents = [*pieces(60, 1), make_document("speech", "long", "word " * 2000)[0]]
    chain = [Link("speech/w00#0", f"speech/w{i:02d}#0", 0.9) for i in range(1, 30)]
    held = held_out(documents, chain, 4000)
    assert "speech/long" not in {d.id for d in held}
    assert not {d.id for d in held} & {f"speech/w{i:02d}#0" for i in range(30)}


def test_a_group_is_named_by_its_smallest_id() -> None:
    documents = pieces(2, 2)
    groups = group(documents, [Link("speech/w01#1", "other/a", 0.9)])
    assert sorted((g.id, len(g.documents)) for g in groups) == [("other/a", 2), ("speech/w00", 2)]


def test_too_little_text_is_an_error_with_the_sizes() -> None:
    with pytest.raises(DataError, match=r"domain speech: \d+ bytes are left .* 4000 are asked for"):
        held_out(pieces(5, 1), [], 4000)
    with pytest.raises(DataError, match="at most half may go"):
        held_out(pieces(10, 1), [], 2000)
