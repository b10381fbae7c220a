"""A forecast is sealed before the first step or not at all, and what is sealed can be told from what was altered."""

from pathlib import Path

import pytest

from fanal.errors import RefusedError
from fanal.ladder.forecast import forecast
from fanal.ladder.seal import document_sha256, first_step, seal, sealed_forecast
from fanal.record.attempt import Run, Start, start
from fanal.record.reading.read import RunView, open_record
from tests.worlds.ladder import fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)


def hero(folder: Path, **how: object) -> Run:
    return start(folder / "record", Start(id="hero", role="hero", **how))  # type: ignore[arg-type]


def seen(run: Run) -> RunView:
    return open_record(run.path).runs["hero"]


def test_a_sealed_forecast_is_read_back_as_it_was_made(tmp_path: Path) -> None:
    run = hero(tmp_path)
    assert sealed_forecast(seen(run)) is None
    sha256 = seal(run, DOCUMENT)
    found = sealed_forecast(seen(run))
    assert found is not None
    assert (found.sha256, found.document) == (sha256, DOCUMENT)
    assert document_sha256(found.document) == sha256
    run.finish()


def test_after_the_first_row_it_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    run = hero(tmp_path)
    run.log({"train/loss": 5.0}, step=0)
    with pytest.raises(RefusedError, match="run hero has a row at step 0: what is written now is no forecast"):
        seal(run, DOCUMENT)
    assert seen(run).events("forecast") == []
    run.finish()


def test_a_row_that_a_later_attempt_supersedes_still_refuses_it(tmp_path: Path) -> None:
    first = hero(tmp_path)
    first.log({"train/loss": 5.0}, step=3)
    first.finish("interrupted")
    again = hero(tmp_path, from_step=0)
    assert first_step(seen(again)) == 3
    with pytest.raises(RefusedError, match="row at step 3"):
        seal(again, DOCUMENT)
    again.finish()


def test_a_row_before_step_0_is_no_training(tmp_path: Path) -> None:
    run = hero(tmp_path)
    run.log({"system/check": 1.0}, step=-1)
    assert seal(run, DOCUMENT) == document_sha256(DOCUMENT)
    run.finish()


def test_sealing_the_same_again_does_nothing_and_another_is_refused(tmp_path: Path) -> None:
    run = hero(tmp_path)
    seal(run, DOCUMENT)
    seal(run, DOCUMENT)
    assert len(seen(run).events("forecast")) == 1
    other = forecast(fake_ladder(E=2.0).record(), LADDER.hero)
    with pytest.raises(RefusedError, match=r"has the forecast \w{12} already"):
        seal(run, other)
    run.finish()


def test_the_first_forecast_stays_the_one_that_counts(tmp_path: Path) -> None:
    run = hero(tmp_path)
    sha256 = seal(run, DOCUMENT)
    later = dict(DOCUMENT, campaign="later")
    run.event("forecast", sha256=document_sha256(later), document=later)
    found = sealed_forecast(seen(run))
    assert found is not None
    assert found.sha256 == sha256
    run.finish()


def test_a_document_that_is_not_the_one_its_hash_names_is_refused(tmp_path: Path) -> None:
    run = hero(tmp_path)
    run.event("forecast", sha256=document_sha256(DOCUMENT), document=dict(DOCUMENT, headline="eval/other/macro"))
    with pytest.raises(RefusedError, match="it was altered"):
        sealed_forecast(seen(run))
    run.finish()
