"""The first two cleaning stages: one way to write a text, and one copy of each text.

Guarantees: `normalise` gives the same text again when applied twice; `exact_duplicates` keeps the
smallest id of equal texts, whatever the order they come in. Both are pure.
"""

import re
import unicodedata
from collections.abc import Sequence

from fanal.data.documents import Document
from fanal.data.report import Removed
from fanal.data.store import sha256_hex

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85]")
_SPACE_AT_END = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{4,}")


def normalise_text(text: str) -> str:
    """NFC; line feeds alone end lines; no control character but tab and line feed; at most two blank lines.

    Space at the end of a line goes, and so do blank lines before and after the text. NFC is what makes an
    accented letter one thing to the tokenizer and to the hash; the source keeps the original bytes.
    """
    text = _LINE_END.sub("\n", unicodedata.normalize("NFC", text))
    # Taking a control character out can bring letters together that compose.
    text = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    text = _BLANK_LINES.sub("\n\n\n", _SPACE_AT_END.sub("", text)).strip("\n")
    return text + "\n" if text.strip() else ""


def normalise(documents: Sequence[Document]) -> tuple[list[Document], list[Removed]]:
    """Documents with their texts normalised; those of which nothing is left are removed."""
    kept: list[Document] = []
    removed: list[Removed] = []
    for document in documents:
        text = normalise_text(document.text)
        if text:
            kept.append(document if text == document.text else document.with_text(text))
        else:
            removed.append(Removed(document.id, document.domain, document.num_bytes, "empty"))
    return kept, removed


def exact_duplicates(documents: Sequence[Document]) -> list[Removed]:
    """The documents whose text another document with a smaller id has."""
    first: dict[str, str] = {}
    hashes = {d.id: sha256_hex(unicodedata.normalize("NFC", d.text).encode("utf-8")) for d in documents}
    for own in sorted(hashes):
        first.setdefault(hashes[own], own)
    return [
        Removed(d.id, d.domain, d.num_bytes, "exact_duplicate", first[hashes[d.id]])
        for d in documents
        if first[hashes[d.id]] != d.id
    ]
