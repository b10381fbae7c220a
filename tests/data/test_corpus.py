import json
from pathlib import Path

import pytest

from fanal.data.corpus import Corpus, load_corpus
from fanal.errors import DataError


def test_a_corpus_survives_the_disk(corpus: Corpus) -> None:
    assert load_corpus(corpus.path) == corpus


def test_a_folder_without_a_finished_build_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no finished corpus here; `fanal data build` makes one"):
        load_corpus(tmp_path)


def test_a_torn_or_foreign_file_is_an_error(tmp_path: Path, corpus: Corpus) -> None:
    whole = json.loads((corpus.path / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps(whole)[:100])
    with pytest.raises(DataError, match="not JSON"):
        load_corpus(tmp_path)
    (tmp_path / "corpus.json").write_text(json.dumps(whole | {"format": 9}))
    with pytest.raises(DataError, match="format 9, this Fanal reads 1"):
        load_corpus(tmp_path)


def test_a_domain_is_found_by_name(corpus: Corpus) -> None:
    assert corpus.domain("code").name == "code"
    with pytest.raises(KeyError, match="the corpus holds verse, code, ledger"):
        corpus.domain("prose")
