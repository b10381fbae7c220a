"""Alerts have levels, and are left out only when told to wait."""

from typing import Any

import fanal
from tests.tracker.conftest import read


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


def test_alerts_have_levels_and_wait_only_when_told_to() -> None:
    run = begin()
    run.alert("Spike", "loss is 9", fanal.AlertLevel.WARN)
    run.alert("Spike", "loss is 10", "ERROR", wait_duration=60)
    run.alert("Other", "text", "loud")
    fanal.finish()
    assert [(e.fields["title"], e.fields["level"]) for e in read().events("alert")] == [
        ("Spike", "warn"),
        ("Other", "info"),
    ]
