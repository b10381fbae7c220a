"""wandb's real client against a server on loopback that answers what it asks: nothing sampled, nothing missing."""

from pathlib import Path

import pytest

from fanal.importers.report import ImportReport
from fanal.importers.source import import_source
from fanal.record.reading.read import RunView, open_record
from tests.worlds.wandb_server import FakeRun, wandb_server

pytestmark = pytest.mark.peer
ROWS = 20_000


def rows(num: int) -> list[dict[str, float]]:
    """Rows of which each thousandth has `b`."""
    found: list[dict[str, float]] = [{"_step": s, "_timestamp": 1.7e9 + s, "a": s / 2} for s in range(num)]
    for number in range(0, num, 1000):
        found[number]["b"] = float(number)
    return found


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Settings of a client that keeps to this test's folder."""
    settings = {"API_KEY": "a" * 40, "SILENT": "true", "ERROR_REPORTING": "false", "CACHE_DIR": str(tmp_path / "cache")}
    for name, value in {**settings, "DIR": str(tmp_path), "CONFIG_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    return monkeypatch


def bring(client: pytest.MonkeyPatch, run: FakeRun, into: Path, source: str = "e/p/r1") -> tuple[RunView, ImportReport]:
    """Import the run from a server of its own."""
    import wandb  # noqa: PLC0415  after its settings stand in the environment

    with wandb_server(run) as address:
        client.setenv("WANDB_BASE_URL", address)
        wandb.teardown()
        report = import_source("wandb-online", source, into)
        wandb.teardown()
    return open_record(into).runs["r1"], report


def test_exported_and_live_rows_are_all_there_with_any_key(client: pytest.MonkeyPatch, tmp_path: Path) -> None:
    everything = rows(ROWS)
    view, report = bring(client, FakeRun(everything[:15_000], everything[15_000:]), tmp_path / "record")
    assert view.series("a").values.tolist() == [s / 2 for s in range(ROWS)]
    assert view.series("b").steps.tolist() == list(range(0, ROWS, 1000))
    assert view.series("b").times_ns.tolist() == [(1_700_000_000 + s) * 10**9 for s in range(0, ROWS, 1000)]
    assert (view.config, view.name, view.summary["best"]) == ({"lr": 0.1}, "nice-run-1", 3.5)
    assert (report.exit_code, report.runs[0].missing) == (0, [])


def test_a_later_import_asks_only_for_what_is_new(client: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bring(client, FakeRun([], rows(2500)), tmp_path / "record")
    later = FakeRun([], rows(4000))
    view, report = bring(client, later, tmp_path / "record")
    assert (report.runs[0].added_rows, report.runs[0].rows) == (1500, 4000)
    assert view.series("a").steps.tolist() == list(range(4000))
    assert later.asked.count("HistoryPage") == 2
    _, again = bring(client, FakeRun([], rows(4000)), tmp_path / "record")
    assert again.runs[0].added_rows == 0


def test_a_server_that_asks_to_wait_is_waited_for(client: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = FakeRun([], rows(3000), refusals=2)
    view, report = bring(client, run, tmp_path / "record")
    assert (len(view.series("a")), report.exit_code, run.refusals) == (3000, 0, 0)


def test_what_the_server_claims_and_does_not_send_is_named(client: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, report = bring(client, FakeRun([], rows(100), claimed_rows=130, claimed_last_step=129), tmp_path / "record")
    assert report.exit_code == 1
    assert report.runs[0].missing == [
        "the server counts 130 rows, 100 came",
        "the server's last step is 129, the last that came is 99",
    ]


def test_a_project_brings_its_runs(client: pytest.MonkeyPatch, tmp_path: Path) -> None:
    view, report = bring(client, FakeRun([], rows(50)), tmp_path / "record", "e/p")
    assert ([run.run for run in report.runs], len(view.series("a")), report.exit_code) == (["r1"], 50, 0)
