"""Accounting of bytes, row F2: a token counts its own bytes."""

from pathlib import Path

import pytest

from fanal.data.tokens import SEPARATOR, SEPARATOR_ID, Tokenizer, train_tokenizer
from tests.worlds.corpus import tiny_corpus


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    (tmp_path / "tokenizer.json").write_bytes(train_tokenizer((d.text for d in tiny_corpus().documents), 400))
    return Tokenizer(tmp_path / "tokenizer.json")


def test_f2_a_part_of_a_character_counts_its_byte_and_not_the_replacement_characters_three(
    tokenizer: Tokenizer,
) -> None:
    token_bytes = tokenizer.token_bytes()
    dog = tokenizer.encode("🐕")
    assert len(dog) == 4
    assert [token_bytes[i] for i in dog] == [1, 1, 1, 1]
    # What the reports summed instead: the bytes of each token decoded alone.
    assert sum(len(tokenizer.decode([i]).encode("utf-8")) for i in dog) == 12


@pytest.mark.parametrize(
    "text", ["", "🐕", "née 日本語 \r\n\0", SEPARATOR, *(d.text for d in tiny_corpus().documents[:9])]
)
def test_f2_bytes_of_tokens_add_up_to_the_text(tokenizer: Tokenizer, text: str) -> None:
    token_bytes = tokenizer.token_bytes()
    assert sum(token_bytes[i] for i in tokenizer.encode(text)) == len(text.encode("utf-8"))
    assert token_bytes[SEPARATOR_ID] == 0
