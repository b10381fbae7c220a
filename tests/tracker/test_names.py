"""Names and values change as items and attributes, and are written once for changes made together."""

import time
from typing import Any

import pytest

import fanal
from fanal.tracker.names import Before, Config, Summary


def test_changes_made_together_are_written_once_and_soon() -> None:
    written: list[dict[Any, Any]] = []
    config = Config({"lr": 0.1}, written.append)
    config.depth = 4
    config["lr"] = 0.2
    assert config.waits
    until = time.monotonic() + 5
    while not written and time.monotonic() < until:
        time.sleep(0.01)
    assert written == [{"depth": 4, "lr": 0.2}]
    assert not config.waits
    config.save()
    assert len(written) == 1
    config.seed = 7
    config.save()
    assert written[1:] == [{"seed": 7}]


def test_it_is_a_mapping() -> None:
    config = Config({"lr": 0.1, 3: "three"}, lambda _: None)
    assert dict(config) == {**config} == config.as_dict() == {"lr": 0.1, 3: "three"}
    assert (list(config.keys()), list(config.values()), len(config)) == (["lr", 3], [0.1, "three"], 2)
    assert config.pop("lr") == 0.1
    assert "lr" not in config
    assert repr(config) == "{3: 'three'}"
    config.update(a=1)
    assert config.a == 1
    config.save()


def test_a_summary_shows_what_was_logged_under_what_was_set() -> None:
    logged = {"loss": 1.0, "acc": 0.5}
    summary = Summary(lambda _: None, lambda: logged)
    summary["acc"] = 0.9
    logged["loss"] = 0.5
    assert dict(summary) == {"loss": 0.5, "acc": 0.9}
    assert (summary.get("none", 3), len(summary), "loss" in summary) == (3, 2, True)
    with pytest.raises(KeyError):
        summary["none"]
    summary.save()


def test_of_what_is_set_and_logged_the_later_stands() -> None:
    logged: dict[Any, Any] = {"loss": 1.0}
    written: list[dict[Any, Any]] = []
    summary = Summary(written.append, lambda: logged, lambda name: name != "private")
    summary["loss"] = summary["private"] = 9.0
    assert summary["loss"] == 9.0, "set after it was logged"
    for value in (0.5, 0.25, 0.125):
        logged |= {"loss": value, "private": value}
        summary.logged_over({"loss": value, "private": value})
    assert dict(summary) == {"loss": 0.125, "private": 9.0}, "no event tells what is withheld"
    assert written == [{"private": 9.0, "loss": 9.0}, {"loss": 0.5}], "not an event a row"
    summary.settle()
    summary.settle()
    assert written[2:] == [{"loss": 0.125}]
    summary["loss"] = 3
    summary.save()
    summary.settle()
    assert (summary["loss"], written[3:]) == (3, [{"loss": 3}])


def test_before_a_run_every_use_says_what_to_do() -> None:
    before: Any = Before("config")
    for use in (lambda: before.lr, lambda: before["lr"], lambda: before.update({}), lambda: setattr(before, "lr", 1)):
        with pytest.raises(fanal.Error, match=r"fanal.config: there is no run"):
            use()
    with pytest.raises(fanal.Error):
        before["lr"] = 1
    assert not hasattr(before, "__len__")
