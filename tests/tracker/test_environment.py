"""What an attempt ran on is public without names; how its process was started is withheld; no secret is in either."""

import json
from pathlib import Path

import pytest

import fanal
from fanal.tracker.environment import environment, process
from tests.tracker.conftest import read

SECRET = "hf_" + "aB3dE6gH9j" * 3


def test_both_are_recorded_and_the_process_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANAL_X_DISABLE_META")
    monkeypatch.setenv("WANDB_API_KEY", SECRET)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setattr("sys.argv", ["train.py", "--token", SECRET, "--lr", "0.1"])
    fanal.init(dir="r", id="a")
    fanal.finish()
    (public,), (withheld,) = read().events("environment"), read().events("process")
    assert public.writer != withheld.writer
    assert list(read().withheld) == [withheld.writer]
    assert withheld.fields["argv"][0] == "train.py"
    assert withheld.fields["environment"]["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert "HF_TOKEN" not in withheld.fields["environment"]
    everything = b"".join(path.read_bytes() for path in Path("r").rglob("*") if path.is_file())
    assert SECRET.encode() not in everything


def test_the_environment_names_no_machine_no_person_and_no_path() -> None:
    said, started = json.dumps(environment()), process({"USER": "someone"})
    assert started["user"] == "someone"
    for private in (started["host"], started["folder"], started["executable"]):
        assert private not in said
    assert environment()["devices"]["processors"] >= 1
    assert environment()["devices"]["memory_bytes"] > 1 << 20


def test_only_variables_that_training_depends_on_are_kept() -> None:
    kept = process({"NCCL_DEBUG": "INFO", "PATH": "/bin", "SECRET": "x", "RANK": "3"})["environment"]
    assert kept == {"NCCL_DEBUG": "INFO", "RANK": "3"}
