"""What an `init` comes to: an argument before a setting, a setting before a variable, and what none of them may be."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fanal
from fanal.tracker.asked import Asked, as_config, resolve
from fanal.tracker.errors import UsageError


def asked(environ: dict[str, str] | None = None, **arguments: Any) -> Asked:
    return resolve(arguments, environ or {})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(None, "default"), (True, "finish_previous"), (False, "return_previous"), ("true", "finish_previous")]
    + [(name, name) for name in ("default", "return_previous", "finish_previous", "create_new")],
)
def test_reinit_has_a_word_for_each_value(given: Any, wanted: str) -> None:
    assert asked(reinit=given).reinit == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(None, None), (False, None), (True, "auto"), ("true", "auto"), ("", None)]
    + [(name, name) for name in ("allow", "never", "must", "auto")],
)
def test_resume_has_a_word_for_each_value(given: Any, wanted: str | None) -> None:
    assert asked(resume=given).resume == wanted
    assert asked({"WANDB_RESUME": str(given)} if given else {}).resume == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("online", "online"),
        ("offline", "offline"),
        ("dryrun", "offline"),
        ("disabled", "disabled"),
        ("shared", "shared"),
    ],
)
def test_modes_are_those_that_people_know(given: str, wanted: str) -> None:
    assert asked(mode=given).mode == wanted
    assert asked({"WANDB_MODE": given}).mode == wanted
    assert asked({"WANDB_MODE": given, "FANAL_MODE": "offline"}).mode == "offline"


def test_an_argument_wins_then_a_setting_then_a_variable() -> None:
    environ = {"WANDB_RUN_GROUP": "variable", "WANDB_NAME": "variable", "WANDB_NOTES": "variable"}
    found = asked(environ, group="argument", settings={"run_group": "setting", "run_name": "setting"})
    assert (found.group, found.name, found.notes) == ("argument", "setting", "variable")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "on"}, "mode must be one of"),
        ({"reinit": "perhaps"}, "reinit must be one of"),
        ({"resume": "perhaps"}, "resume must be one of"),
        ({"fork_from": "a?step=3"}, r"<run id>\?_step=<step>"),
        ({"config": "none.yaml"}, "none.yaml cannot be read"),
        ({"id": 5}, r"init: id must be text, got 5 \(int\)"),
        ({"tags": 5}, r"init: tags must be a list, got 5 \(int\)"),
        ({"withhold": 5}, r"init: withhold must be a list, got 5 \(int\)"),
        ({"withhold": [("a",)]}, r"pairs of pattern and reason, got \('a',\) \(tuple\)"),
        ({"settings": 5}, r"init: settings must be a Settings or a dict, got 5 \(int\)"),
        ({"config": 5}, r"config must be a dict, .+ got 5 \(int\)"),
        ({"dir": 5}, r"init: dir must be a path, got 5 \(int\)"),
        ({"settings": {"x_stats_sampling_interval": 0.0 - 1}}, "x_stats_sampling_interval must be a number of seconds"),
        ({"config_include_keys": ["a"], "config_exclude_keys": ["b"]}, "not both"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fanal.UsageError, match=message):
        asked(**arguments)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FANAL_X_STATS_SAMPLING_INTERVAL", "abc", "must be a number of seconds above 0, got 'abc'"),
        ("FANAL_MODE", "foo", "must be one of online, .+ got 'foo'"),
        ("WANDB_RESUME", "foo", "must be one of allow, .+ got 'foo'"),
        ("WANDB_FORK_FROM", "foo", "must be '<run id>"),
    ],
)
def test_a_variable_that_cannot_be_meant_is_named(variable: str, value: str, message: str) -> None:
    with pytest.raises(fanal.UsageError, match=f"^{variable} {message}"):
        asked({variable: value})
    with pytest.raises(fanal.UsageError, match=r"^init: mode"):
        asked({"FANAL_MODE": "online"}, mode="foo")


def test_one_pattern_is_withheld_as_one() -> None:
    assert next(rule.pattern for rule in asked(withhold="loss").rules) == "loss"


@pytest.mark.parametrize("wrong", ["../x", "a/b", "", "a?b", ".x", "x" * 81])
def test_an_id_that_cannot_be_a_folder_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="run id"):
        asked(id=wrong)


def test_configurations_come_in_many_shapes(tmp_path: Path) -> None:
    @dataclass
    class Config:
        lr: float = 0.1
        depth: int = 4

    wanted = {"lr": 0.1, "depth": 4}
    (tmp_path / "config.json").write_text(json.dumps(wanted))
    flags = SimpleNamespace(flag_values_dict=lambda: wanted)
    for given in (
        wanted,
        Config(),
        argparse.Namespace(**wanted),
        str(tmp_path / "config.json"),
        SimpleNamespace(**wanted),
        flags,
    ):
        assert as_config(given) == wanted
    assert as_config(None) == {}


def test_a_configuration_is_chosen_from_by_name() -> None:
    config = {"lr": 0.1, "token": "x", 3: "three"}
    assert asked(config=config, config_include_keys=["lr"]).config == {"lr": 0.1}
    assert asked(config=config, config_exclude_keys=["token"]).config == {"lr": 0.1, 3: "three"}


@pytest.mark.parametrize("dest", ["foo://x", "s3://", 5])
def test_a_destination_that_is_none_is_refused_before_a_run_begins(tmp_path: Path, dest: object) -> None:
    with pytest.raises(UsageError, match="publish"):
        fanal.init(dir=tmp_path / "r", publish=dest)
    assert not (tmp_path / "r").exists()
