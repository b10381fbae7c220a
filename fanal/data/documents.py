"""A document, from its birth in a reader to its tokens.

Guarantees: the text is valid UTF-8 (a lone surrogate became U+FFFD where the document was born, and is
counted), and ids are unique in a corpus. Documents of one `work` (the pieces of a speech, a chapter)
stay on one side of the held-out split.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

PIECE_BYTES = 8000
"""Long works are cut at paragraph borders into pieces of at most this much UTF-8."""


@dataclass(frozen=True)
class Document:
    """One text of one domain."""

    id: str
    """`<domain>/<name in the source>`, with `#<piece>` where a work was cut."""
    domain: str
    work: str
    """The id of the whole of which this is a piece; its own id where it is whole."""
    text: str
    num_bytes: int
    """UTF-8 bytes of the text."""

    def with_text(self, text: str) -> "Document":
        return replace(self, text=text, num_bytes=len(text.encode("utf-8")))


def make_document(domain: str, name: str, text: str, work: str | None = None) -> tuple[Document, int]:
    """A document and how many lone surrogates were replaced in it."""
    clean, surrogates = replace_surrogates(text)
    own = f"{domain}/{name}"
    of_work = own if work is None else f"{domain}/{work}"
    return Document(own, domain, of_work, clean, len(clean.encode("utf-8"))), surrogates


def replace_surrogates(text: str) -> tuple[str, int]:
    """The text with U+FFFD for each lone surrogate, and their number."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        lone = sum("\ud800" <= c <= "\udfff" for c in text)
        return "".join("�" if "\ud800" <= c <= "\udfff" else c for c in text), lone
    return text, 0


def cut(text: str, limit_bytes: int = PIECE_BYTES) -> list[str]:
    """The text in pieces of at most `limit_bytes`: at paragraphs, else lines, else sentences, else characters.

    Joined by what they were cut at, the pieces are the text, but for pieces without a letter, which go.
    """
    return [piece for piece in _cut(text, limit_bytes, ("\n\n", "\n", ". ", " ")) if piece.strip()]


def _cut(text: str, limit: int, borders: tuple[str, ...]) -> list[str]:
    if len(text.encode("utf-8")) <= limit:
        return [text]
    if not borders:
        step = limit // 4  # no character takes more than four bytes
        return [text[i : i + step] for i in range(0, len(text), step)]
    pieces: list[str] = []
    for part in text.split(borders[0]):
        joined = f"{pieces[-1]}{borders[0]}{part}" if pieces else part
        if pieces and len(joined.encode("utf-8")) <= limit:
            pieces[-1] = joined
        else:
            pieces += _cut(part, limit, borders[1:])
    return pieces


def write_documents(documents: Iterable[Document]) -> bytes:
    """Documents as JSON lines."""
    lines = [json.dumps([d.id, d.work, d.text], ensure_ascii=False) for d in documents]
    return ("\n".join(lines) + "\n").encode("utf-8") if lines else b""


def read_documents(data: bytes) -> list[Document]:
    """What `write_documents` wrote. The separator is the line feed alone: texts hold other line ends."""
    found: list[Document] = []
    for line in data.split(b"\n"):
        if line:
            own, work, text = json.loads(line)
            found.append(Document(own, own.split("/", 1)[0], work, text, len(text.encode("utf-8"))))
    return found
