"""Byte-level byte-pair encoding: trained on the training documents, the same file on every machine.

Guarantees: any text encodes and decodes to itself; corpus text that spells the separator is encoded as
plain text, so id 0 stands between documents and nowhere else; the bytes of a text's tokens add up to the
bytes of the text. Training and encoding are the library's (Rust, on all cores); the file does not
depend on threads or on the order of the documents.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from fanal.errors import CampaignError, DataError

SEPARATOR = "<|endoftext|>"
SEPARATOR_ID = 0
_NUM_BYTES = 256


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, path: Path) -> None:
        try:
            text = path.read_text("utf-8")
            json.loads(text)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: no readable tokenizer: {error}") from error
        self._inner = tokenizers.Tokenizer.from_str(text)
        if self._inner.token_to_id(SEPARATOR) != SEPARATOR_ID:
            raise DataError(f"{path}: expected {SEPARATOR} to be id {SEPARATOR_ID}")
        # Not kept in the file: without it a text that spells the separator would end its document.
        self._inner.encode_special_tokens = True

    @property
    def num_tokens(self) -> int:
        """Ids in use; a small corpus may have fewer than it was asked for."""
        return self._inner.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without a separator."""
        return self._inner.encode(text, add_special_tokens=False).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        return [e.ids for e in self._inner.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; separators are left out, and bytes that are no UTF-8 become U+FFFD."""
        return self._inner.decode(list(ids), skip_special_tokens=True)

    def token_bytes(self) -> list[int]:
        """UTF-8 bytes of each id, by id; 0 for the separator.

        Counted in the byte alphabet, in which each character is a byte: decoding a token that is a part of a
        character would give U+FFFD, three bytes for one.
        """
        tokens = [self._inner.id_to_token(i) for i in range(self.num_tokens)]
        return [0 if i == SEPARATOR_ID else len(token or "") for i, token in enumerate(tokens)]


def train_tokenizer(texts: Iterable[str], vocab: int) -> bytes:
    """The tokenizer's file, with at most `vocab` ids.

    Raises:
        CampaignError: a vocabulary that cannot hold every byte and the separator.
    """
    if vocab < _NUM_BYTES + 1:
        raise CampaignError(f"tokenizer.vocab = {vocab}: {_NUM_BYTES} bytes and the separator need {_NUM_BYTES + 1}")
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[SEPARATOR],
        # Bytes that the training text lacks must have ids too.
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str(pretty=True).encode("utf-8")
