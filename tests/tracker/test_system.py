"""System metrics: a row each interval, by time, that never gets between a run's own rows and their steps."""

import time

import pytest

import fanal
from tests.tracker.conftest import read


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """System metrics, on."""
    monkeypatch.delenv("FANAL_SYSTEM")


@pytest.mark.usefixtures("measured")
def test_rows_come_each_interval_and_belong_to_no_step() -> None:
    fanal.init(dir="r", id="a", settings={"x_stats_sampling_interval": 0.1})
    time.sleep(0.25)
    fanal.log({"loss": 1.0}, step=50)
    time.sleep(0.35)
    fanal.log({"loss": 2.0}, step=60)
    fanal.finish()
    view = read()
    series = view.series("system/process/memory_bytes")
    assert len(series.values) >= 4
    assert set(series.steps.tolist()) <= {50, 60}, "rows from before the first have its step: nothing is superseded"
    assert (series.times_ns[1:] > series.times_ns[:-1]).all()
    assert (series.values > 1 << 20).all()
    metric = view.metric("system/process/memory_bytes")
    assert (metric.axis, metric.unit) == ("time", "bytes")
    assert all(view.metric(key).text for key in view.keys() if key.startswith("system/"))  # noqa: SIM118


@pytest.mark.usefixtures("measured")
def test_a_resumed_run_supersedes_nothing_by_its_systems_rows() -> None:
    for resume in (None, "allow"):
        run = fanal.init(dir="r", id="a", resume=resume, settings={"x_stats_sampling_interval": 0.1})
        time.sleep(0.15)
        for step in range(run.step, run.step + 3):
            fanal.log({"loss": float(step)}, step=step)
        time.sleep(0.15)
        fanal.finish()
    assert read().series("loss").steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert set(read().series("system/threads").attempts.tolist()) == {1, 2}


@pytest.mark.parametrize("off", [{"FANAL_SYSTEM": "0"}, {"WANDB_X_DISABLE_STATS": "true"}])
def test_they_can_be_switched_off(off: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANAL_SYSTEM")
    for name, value in off.items():
        monkeypatch.setenv(name, value)
    assert not fanal.init(dir="r", id="a").asked.system
