"""The report: every figure from the record, links that resolve, the same bytes again, and no report before the end."""

import json
import re
import shutil
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fanal.errors import RecordError, RefusedError
from fanal.ladder.show import HONEST
from fanal.page.report import read_result, report_text, write_report
from fanal.record.attempt import Start, start
from fanal.record.reading.read import open_record
from tests.worlds.ladder import FakeLadder, fake_ladder


@pytest.fixture(scope="module")
def ladder() -> FakeLadder:
    return fake_ladder(noise=0.01)


@pytest.fixture(scope="module")
def campaign(ladder: FakeLadder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ladder.finish(tmp_path_factory.mktemp("campaign"))


@pytest.fixture(scope="module")
def written(campaign: Path) -> str:
    return write_report(campaign).text


def test_the_report_stands_beside_the_record_with_its_pictures(campaign: Path, written: str) -> None:
    assert (campaign / "report.md").read_text("utf-8") == written
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", written)
    assert sorted(pictures) == ["card.png", "pictures/curve.svg", "pictures/ladder.svg"]
    for name in pictures:
        assert (campaign / name).stat().st_size > 1000


def test_pictures_are_what_their_names_say(campaign: Path, written: str) -> None:
    assert written
    for name in ("pictures/curve.svg", "pictures/ladder.svg"):
        assert ET.parse(campaign / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (campaign / "card.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_result_and_its_honest_limits_come_first(ladder: FakeLadder, written: str) -> None:
    measured = ladder.loss(ladder.plan.hero, 1.0)
    first = written.index(f"The hero measures {measured:.3f} ")
    assert first < written.index("## The forecast")
    assert HONEST in written


def test_every_rung_line_and_stage_is_in_a_table(written: str) -> None:
    for name in ("d16", "d20", "d24", "d32", "hero", "line, asymptote 0", "line, last two rungs"):
        assert re.search(rf"^\| {name} +\|", written, re.M), name
    for stage, time_taken in (("train/hero", "1\u00a0min 5\u00a0s"), ("total", "1\u00a0min 20\u00a0s")):
        assert re.search(rf"^\| {stage} +\| +{time_taken} \|", written, re.M), stage


def test_the_evals_along_the_way_are_counted(ladder: FakeLadder, written: str) -> None:
    assert f"scored {len(ladder.hero.eval_steps['pulse']) - 1} times" in written


def test_an_eval_that_a_resume_repeated_is_counted_once(
    ladder: FakeLadder, written: str, campaign: Path, tmp_path: Path
) -> None:
    shutil.copytree(campaign, tmp_path / "copy")
    record = tmp_path / "copy" / "record"
    before = read_result(open_record(record)).scores
    repeated = open_record(record).runs["hero"].events("forecast.score")[-3:]
    run = start(record, Start(id="hero", role="hero", from_step=repeated[0].step))
    for event in repeated:
        run.event("forecast.score", step=event.step, **{**event.fields, "inside": False})
    run.finish()
    after = read_result(open_record(record)).scores
    assert [s["progress"] for s in after] == [s["progress"] for s in before]
    assert [s["inside"] for s in after[-3:]] == [False] * 3
    assert f"scored {len(ladder.hero.eval_steps['pulse']) - 1} times" in write_report(tmp_path / "copy").text


def test_the_forecasts_hash_and_the_campaigns_are_whole(ladder: FakeLadder, campaign: Path, written: str) -> None:
    sealed = open_record(campaign).runs["hero"].events("forecast")[0].fields["sha256"]
    assert f"`{sealed}`" in written
    assert f"`{ladder.plan.fingerprint}`" in written


def test_a_second_report_has_the_same_bytes(campaign: Path, written: str, tmp_path: Path) -> None:
    shutil.copytree(campaign, tmp_path / "copy")
    before = {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert write_report(tmp_path / "copy").text == written
    after = {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert after == before


def test_the_report_answers_in_json(campaign: Path) -> None:
    answer = write_report(campaign).to_json()
    json.dumps(answer, allow_nan=False)
    assert all(Path(name).is_file() for name in answer["files"])


def test_a_campaign_that_has_not_ended_has_no_report(tmp_path: Path) -> None:
    start(tmp_path / "record", Start(id="hero", role="hero")).finish()
    with pytest.raises(RecordError, match="no sealed forecast and no verdict"):
        write_report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["record"]


def test_an_altered_forecast_is_not_reported(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanal.ladder.seal.document_sha256", lambda _: "0" * 64)
    with pytest.raises(RefusedError, match="it was altered"):
        read_result(open_record(campaign))


def test_words_that_people_supply_cannot_break_out_of_the_report(campaign: Path) -> None:
    record = open_record(campaign)
    result = read_result(record)
    hostile = "a\u202eb\x07"
    result.campaign.written["title"] = hostile  # type: ignore[index]
    assert report_text(result).startswith("# ab\n")


def test_report_and_pictures_take_seconds(campaign: Path) -> None:
    begun = time.process_time()
    write_report(campaign)
    assert time.process_time() - begun < 15
