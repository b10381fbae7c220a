"""Logging never raises, whatever keys, values and mappings do; a call that cannot be meant is an error in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import fanal
from fanal.tracker.names import Config
from tests.tracker.conftest import read


class Bad:
    """Has no text."""

    def __str__(self) -> str:
        raise ZeroDivisionError("no text")

    __repr__ = __str__


class Unlike(Bad):
    """Cannot be compared either."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("no comparison")

    def __hash__(self) -> int:
        return 7


class NoItems(dict[str, float]):
    """Has no items."""

    def items(self) -> Any:
        raise ZeroDivisionError("no items")


class NoValues(Mapping[str, float]):
    """Has nothing."""

    def __getitem__(self, name: str) -> float:
        raise ZeroDivisionError("no values")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def begin(**given: Any) -> fanal.Run:
    return fanal.init(dir="r", id="a", **given)


@pytest.mark.parametrize("summary", ["min", "max", "mean", "best"])
def test_an_integer_beyond_floats_is_followed(summary: str) -> None:
    run = begin()
    run.define_metric("*", summary=summary)
    for value in (2.0, 10**5000, 1.0):
        run.log({"v": value})
    assert run.summary["v"] == {"min": 1.0, "max": 10**5000, "mean": 1.5, "best": 1.0}[summary]
    fanal.finish()
    assert read().exact("v") == [2.0, 10**5000, 1.0]


@pytest.mark.parametrize("defined", [True, False])
@pytest.mark.parametrize(
    "row", [{Bad(): 1.0}, {Unlike(): 1.0, "b": 2.0}, {"m": Bad(), Bad(): fanal.Text("x")}, NoItems(a=1.0), NoValues()]
)
def test_log_takes_rows_that_raise(row: Any, defined: bool) -> None:
    run = begin()
    if defined:
        run.define_metric("*", step_metric="axis", summary="min")
    run.log({"axis": 1.0, "x": 1.0})
    for _ in range(2):
        run.log(row)
    run.log({"x": 2.0})
    fanal.finish()
    assert read().exact("x") == [1.0, 2.0]
    assert read().series("x").steps.tolist() == [0, 3]


def test_a_metric_that_cannot_be_meant_is_not_kept() -> None:
    run = begin()
    for name in (5, "", None):
        with pytest.raises(fanal.UsageError, match="define_metric: name must be text that is not empty, got"):
            run.define_metric(name)  # pyright: ignore[reportArgumentType]  what cannot be meant
    run.log({"x": 1.0})
    fanal.finish()
    assert read().exact("x") == [1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step_metric": 5}, r"step_metric must be text, got 5 \(int\)"),
        ({"summary": 5}, r"summary must be text, got 5 \(int\)"),
        ({"goal": ["min"]}, "goal must be minimize or maximize"),
    ],
)
def test_an_argument_of_define_metric_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(fanal.UsageError, match=message):
        begin().define_metric("x", **given)


def test_the_best_without_a_goal_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    begin().define_metric("x", summary="best")
    assert "summary='best' without a goal: the lowest value counts" in capsys.readouterr().err


def test_a_description_is_text() -> None:
    run = begin()
    for pattern, text, name in (("", "", "pattern"), ("a", "", "text"), ("a", 5, "text")):
        with pytest.raises(fanal.UsageError, match=f"describe: {name} must be text that is not empty, got"):
            run.describe(pattern, text)  # pyright: ignore[reportArgumentType]  what cannot be meant


def test_a_configuration_names_what_it_has_in_words() -> None:
    def unwritten(_: dict[Any, Any]) -> None:
        """Nothing changes."""

    for values, names in (({Bad(): 1, "lr": 2}, "<Bad>, lr"), ({}, "nothing")):
        with pytest.raises(AttributeError, match=f"config has no 'zz'; it has {names}"):
            _ = Config(values, unwritten).zz


@pytest.mark.parametrize("value", [1.0, fanal.Text("words")])
def test_a_name_without_text_in_the_configuration_ends_no_log(value: Any) -> None:
    run = begin()
    run.config[Bad()] = 1
    run.log({"m": value, "x": 1.0})
    fanal.finish()
    assert read().exact("x") == [1.0]


def test_an_alert_without_a_text_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    run = begin()
    run.alert(Bad(), Bad(), wait_duration="soon")  # pyright: ignore[reportArgumentType]  what has no text
    run.alert("t", level=Bad())
    fanal.finish()
    assert [event.fields["title"] for event in read().events("alert")] == ["<Bad>", "t"]
    assert "wait_duration must be seconds or a timedelta, got 'soon'" in capsys.readouterr().err


@pytest.mark.parametrize("medium", [fanal.Image, fanal.Audio, fanal.Video])
def test_a_medium_of_a_file_that_is_not_there_is_named(medium: Any) -> None:
    with pytest.raises(fanal.UsageError, match=f"{medium.__name__}: the file 'nope.png' cannot be read: No such file"):
        medium("nope.png")


def test_a_histogram_is_of_numbers() -> None:
    with pytest.raises(fanal.UsageError, match=r"Histogram: sequence must be numbers, got \['a'\] \(list\)"):
        fanal.Histogram(["a"])
    with pytest.raises(fanal.UsageError, match=r"num_bins must be 1 to 512, got 'x'"):
        fanal.Histogram([1], num_bins="x")  # pyright: ignore[reportArgumentType]  what cannot be meant


def test_a_picture_of_tensorboard_is_an_array() -> None:
    begin()
    writer = fanal.SummaryWriter()
    with pytest.raises(fanal.UsageError, match=r"add_image: img_tensor must be an array .+ got 'none\.png'"):
        writer.add_image("i", "none.png", 1)
    with pytest.raises(fanal.UsageError, match=r"add_audio: snd_tensor must be an array, got 'none\.wav'"):
        writer.add_audio("i", "none.wav", 1)


def test_a_line_of_the_module_names_fanal_once(capsys: pytest.CaptureFixture[str]) -> None:
    fanal.tracker.calls.termlog("hello")
    assert capsys.readouterr().err == "fanal: script: hello\n"
