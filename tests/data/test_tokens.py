import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanal.data.corpus import Corpus
from fanal.data.tokens import SEPARATOR, SEPARATOR_ID, Tokenizer, train_tokenizer
from fanal.errors import CampaignError, DataError
from tests.worlds.corpus import tiny_corpus


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    file = tmp_path_factory.mktemp("tokens") / "tokenizer.json"
    file.write_bytes(train_tokenizer((d.text for d in tiny_corpus().documents), 400))
    return Tokenizer(file)


@settings(database=None, deadline=None, max_examples=200)
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_comes_back_and_its_tokens_bytes_add_up(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    token_bytes = tokenizer.token_bytes()
    assert tokenizer.decode(ids) == text
    assert sum(token_bytes[i] for i in ids) == len(text.encode("utf-8"))
    assert SEPARATOR_ID not in ids


@pytest.mark.parametrize("text", ["", "\0", "a\r\nb", "\U0001f415 née ﬁ", " leading", SEPARATOR, f"a{SEPARATOR}b"])
def test_texts_that_others_stumble_over_come_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert SEPARATOR_ID not in tokenizer.encode(text)
    assert tokenizer.encode_all([text, "x"]) == [tokenizer.encode(text), tokenizer.encode("x")]


def test_the_file_does_not_depend_on_the_order_of_the_documents() -> None:
    texts = [d.text for d in tiny_corpus().documents]
    expected = train_tokenizer(texts, 350)
    random.Random(1).shuffle(texts)
    assert train_tokenizer(texts, 350) == expected


def test_every_byte_has_an_id_even_when_training_never_saw_it(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(train_tokenizer(["aaaa"], 300))
    tokenizer = Tokenizer(file)
    assert tokenizer.decode(tokenizer.encode("Ω\0\U0010ffff")) == "Ω\0\U0010ffff"
    assert 257 <= tokenizer.num_tokens < 300


def test_the_corpus_has_the_vocabulary_it_was_asked_for(corpus: Corpus) -> None:
    tokenizer = Tokenizer(corpus.tokenizer_path)
    assert tokenizer.num_tokens == corpus.vocab == 300
    assert len(tokenizer.token_bytes()) == 300
    assert tokenizer.token_bytes().count(0) == 1


def test_a_vocabulary_without_room_for_every_byte_is_refused() -> None:
    with pytest.raises(CampaignError, match=r"tokenizer\.vocab = 256: 256 bytes and the separator need 257"):
        train_tokenizer(["a"], 256)


def test_a_missing_or_foreign_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no readable tokenizer"):
        Tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(DataError, match=r"tokenizer\.json: no readable tokenizer"):
        Tokenizer(tmp_path / "tokenizer.json")
    foreign = train_tokenizer(["a"], 300).replace(SEPARATOR.encode(), b"<other>")
    (tmp_path / "tokenizer.json").write_bytes(foreign)
    with pytest.raises(DataError, match=r"expected <\|endoftext\|> to be id 0"):
        Tokenizer(tmp_path / "tokenizer.json")
