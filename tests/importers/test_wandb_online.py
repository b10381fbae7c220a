"""Online runs through a stand-in for the client: retries, resuming, values that JSON does not have, bad input."""

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fanal.errors import RecordError
from fanal.importers import wandb_online
from fanal.importers.source import import_source
from fanal.record.reading.read import RunView, open_record
from tests.worlds.wandb_client import Run, use_client

PATH = "e/p/r1"


def rows(num: int) -> list[dict[str, float]]:
    return [{"_step": s, "_timestamp": 1.7e9 + s, "_runtime": s, "a": s / 2} for s in range(num)]


def view(folder: Path) -> RunView:
    return open_record(folder / "record").runs["r1"]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited for, without waiting."""
    found: list[float] = []
    monkeypatch.setattr(wandb_online, "time", SimpleNamespace(sleep=found.append))
    return found


def test_a_scan_that_fails_goes_on_after_the_last_whole_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    run = Run(rows(5000))
    run.failures = [2500, 0, 700]
    use_client(monkeypatch, run)
    report = import_source("wandb-online", PATH, tmp_path / "record")
    assert view(tmp_path).series("a").values.tolist() == [s / 2 for s in range(5000)]
    assert (report.runs[0].rows, report.runs[0].missing) == (5000, [])
    assert run.scanned_from == [0, 2000, 2000, 2000]
    assert waits == [1.0, 2.0, 4.0]


def test_a_server_that_never_answers_is_said_and_the_next_import_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    run = Run(rows(3000))
    run.failures = [1500] + [0] * 20
    use_client(monkeypatch, run)
    with pytest.raises(RecordError, match=r"429 Too Many Requests; run the import again to go on"):
        import_source("wandb-online", PATH, tmp_path / "record")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    run.failures = []
    report = import_source("wandb-online", PATH, tmp_path / "record")
    assert view(tmp_path).series("a").steps.tolist() == list(range(3000))
    assert (report.runs[0].added_rows, report.exit_code) == (2000, 0)


def test_a_grown_run_is_scanned_from_its_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for num in (100, 150):
        run = Run(rows(num))
        use_client(monkeypatch, run)
        import_source("wandb-online", PATH, tmp_path / "record")
    assert run.scanned_from == [100]
    assert len(view(tmp_path).series("a")) == 150
    assert len(view(tmp_path).attempts) == 1


def test_what_json_does_not_have_are_numbers_and_several_rows_of_a_step_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [{"_step": s, "x": x} for s, x in enumerate(["NaN", "Infinity", "-Infinity", "text", None, 2**60 + 1])]
    use_client(monkeypatch, Run([*given, {"_step": 5, "x": 7, "n": {"a": 1}}]))
    report = import_source("wandb-online", PATH, tmp_path / "record")
    found = view(tmp_path)
    values = found.series("x").values.tolist()
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, 7.0]
    assert found.exact("n.a") == [1]
    assert [other.value for other in found.others()] == ["text"]
    assert report.runs[0].duplicates == 1
    assert found.series("x").times_ns.tolist() == [0] * 4


def test_without_the_client_and_live_it_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(RecordError, match="pip install wandb"):
        import_source("wandb-online", PATH, tmp_path / "record")


def test_a_project_is_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_client(monkeypatch, Run(rows(10)))
    assert import_source("wandb-online", "e/p", tmp_path / "record").runs[0].rows == 10
    assert import_source("wandb-online", PATH, tmp_path / "record").runs[0].added_rows == 0
    with pytest.raises(RecordError, match="expected ENTITY/PROJECT/RUN"):
        import_source("wandb-online", "e", tmp_path / "record")
