"""What keys mean and how they are shown is recorded, and the live summary follows it."""

import math
from typing import Any

import pytest

import fanal
from tests.tracker.conftest import read


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


def test_define_metric_is_recorded_and_the_summary_follows_it() -> None:
    run = begin()
    for name, summary in (("low", "min"), ("high", "max"), ("mean", "mean"), ("both", "min,max"), ("none", "none")):
        run.define_metric(name, summary=summary)
    run.define_metric("best", summary="best", goal="maximize")
    run.define_metric("eval/*", summary="max", hidden=True)
    for value in (3.0, 1.0, math.nan, 4.0, 2.0):
        run.log(dict.fromkeys(("low", "high", "mean", "none", "best", "eval/acc", "plain"), value))
    wanted = {"low": 1.0, "high": 4.0, "mean": 2.5, "best": 4.0, "eval/acc": 4.0, "plain": 2.0}
    assert dict(run.summary) == wanted
    fanal.finish()
    assert read().summary == wanted
    assert read().metric("eval/acc").hidden is True
    with pytest.raises(fanal.UsageError, match="summary must be one of"):
        begin(reinit="create_new", name="b").define_metric("x", summary="median")


def test_step_sync_carries_the_axis_into_rows_without_it() -> None:
    run = begin()
    run.define_metric("tokens")
    run.define_metric("loss", step_metric="tokens")
    run.define_metric("norm", step_metric="tokens", step_sync=False)
    run.log({"loss": 9.0})
    run.log({"tokens": 4096})
    run.log({"loss": 1.0})
    run.log({"norm": 1.0})
    fanal.finish()
    assert read().series("tokens").steps.tolist() == [1, 2]
    assert read().metric("loss").step_metric == "tokens"


def test_describe_keeps_the_callers_line() -> None:
    run = begin()
    run.describe("train/*", "Loss of the batch", unit="nats", better="lower")
    fanal.finish()
    metric = read().metric("train/loss")
    assert (metric.text, metric.unit, metric.better) == ("Loss of the batch", "nats", "lower")
    assert metric.source is not None
    assert metric.source.startswith("test_metric.py:"), metric.source
    with pytest.raises(fanal.UsageError, match="lower or higher"):
        begin(reinit="create_new", name="b").describe("x", "y", better="up")
