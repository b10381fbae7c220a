import pytest

from fanal.data.documents import PIECE_BYTES, cut, make_document, read_documents, replace_surrogates, write_documents


def test_a_lone_surrogate_becomes_the_replacement_character_and_is_counted() -> None:
    assert replace_surrogates("x\ud800y") == ("x\ufffdy", 1)
    assert replace_surrogates("née \U0001f415") == ("née \U0001f415", 0)


def letters(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


def test_documents_survive_the_disk_with_every_line_end_inside() -> None:
    texts = ["a\u2028b\x85c\r\nd\n", "", '"quoted" \\ back\0', "\U0001f415"]
    documents = [make_document("d", f"n{i}", text, work="w")[0] for i, text in enumerate(texts)]
    assert read_documents(write_documents(documents)) == documents
    assert [d.num_bytes for d in documents] == [len(t.encode()) for t in texts]
    assert read_documents(b"") == []


@pytest.mark.parametrize("limit", [40, 100, PIECE_BYTES])
def test_pieces_keep_every_character_and_the_limit(limit: int) -> None:
    paragraphs = [f"Paragraph {i} says é. " * (1 + i % 7) + "\nnext line" for i in range(60)]
    text = "\n\n".join(paragraphs) + "\n\n" + "x" * 500
    pieces = cut(text, limit)
    assert all(len(p.encode()) <= limit for p in pieces)
    # What stood at a cut (a blank, a sentence's stop) is the border itself; every other character is there.
    assert letters("".join(pieces)) == letters(text)


def test_pieces_end_at_paragraphs_where_these_fit() -> None:
    paragraphs = ["a" * 30, "b" * 30, "c" * 30]
    assert cut("\n\n".join(paragraphs), 62) == ["a" * 30 + "\n\n" + "b" * 30, "c" * 30]


def test_no_piece_is_blank() -> None:
    assert cut("a" * 30 + "\n\n\n\n" + "\n", 30) == ["a" * 30]
