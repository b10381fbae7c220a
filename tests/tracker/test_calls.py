"""The calls of a run as functions of the module, and those that are done another way."""

import os
from typing import Any

import pytest

import fanal
from tests.tracker.conftest import read


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


def test_calls_of_the_module_go_to_the_current_run() -> None:
    begin()
    fanal.log({"x": 1.0}, step=4)
    fanal.describe("x", "what")
    fanal.define_metric("x", summary="max")
    fanal.summary["y"] = 2
    fanal.config.update({"lr": 1})
    fanal.alert("t", "text")
    fanal.mark_preempting()
    assert fanal.login() is True
    fanal.teardown()
    assert fanal.run is None
    assert read().summary == {"x": 1.0, "y": 2}
    assert os.environ.get("WANDB_API_KEY") is None


@pytest.mark.parametrize("name", ["sweep", "agent", "controller", "Api", "attach", "restore"])
def test_what_is_done_another_way_says_so_in_one_line(name: str) -> None:
    with pytest.raises(fanal.Error, match=rf"fanal has no {name}: .+") as error:
        getattr(fanal, name)("x", count=3)
    assert "\n" not in str(error.value)
