"""Faults of trackers as scripts meet them, held by the calls that scripts make: rows of the record's list."""

import math
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import fanal

LITERALS = {"LR": 0.00018805814126031094, "two": 2.0, "beyond": 2**63 + 1, "far": 10**30}
EVERYTHING = """
import os, resource, signal, sys
os.environ |= {"FANAL_SYSTEM": "1", "FANAL_X_STATS_SAMPLING_INTERVAL": "0.1"}
import fanal
run = fanal.init(dir="r", id="a", config={"lr": 0.1})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
with open("large.bin", "wb") as file:
    file.write(bytes(900_000))
run.define_metric("loss", summary="min")
for step in range(4000):
    fanal.log({f"k{i}": step + i / 7 for i in range(200)} | {"loss": 1.0})
    if step % 1000 == 0:
        fanal.log({"table": fanal.Table(columns=["a"], data=[["x" * 1000]] * 2000), "odd": object(), "n": {"a": "b"}})
        run.config[f"at{step}"] = "y" * 100_000
        run.summary["best"] = step
        run.alert("title", "z" * 100_000)
        run.save("large.bin")
        run.log_artifact("large.bin", name="large", type="file")
        run.log_code()
        run.describe("k*", "some values")
fanal.finish()
print("trained to the end")
"""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, and no variable from outside."""
    for name in list(os.environ):
        if name.startswith(("FANAL_", "WANDB_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FANAL_SYSTEM", "0")
    monkeypatch.chdir(tmp_path)
    yield
    fanal.finish()


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_r2_a_value_that_is_not_finite_is_the_same_from_every_library(value: float) -> None:
    given = {
        "python": value,
        "float16": np.float16(value),
        "float32": np.float32(value),
        "float64": np.float64(value),
        "bfloat16": ml_dtypes.bfloat16(value),
        "jax": jnp.float32(value),
        "jax_bfloat16": jnp.asarray(value, dtype=jnp.bfloat16),
    }
    fanal.init(dir="r", id="a")
    fanal.log(given, step=9)
    fanal.finish()
    view = fanal.open("r").runs["a"]
    for key in given:
        series = view.series(key)
        assert series.steps.tolist() == [9]
        assert np.array_equal(series.values, [value], equal_nan=True), key


def test_r4_a_resumed_configuration_is_equal_to_the_last_bit() -> None:
    fanal.init(dir="r", id="a", config=LITERALS)
    fanal.finish()
    run = fanal.init(dir="r", id="a", resume="must")
    run.config.update(LITERALS)
    assert_same(run.config.as_dict())
    fanal.finish()
    first, second = fanal.open("r").runs["a"].attempts
    assert_same(first.config)
    assert_same(second.config)


def assert_same(config: dict[Any, Any]) -> None:
    assert {name: value for name, value in config.items() if LITERALS[name] != value} == {}
    assert list(map(type, config.values())) == list(map(type, LITERALS.values()))
    assert len(config) == len(LITERALS)


def test_r10_a_resume_keeps_the_old_configuration_beside_the_new_one() -> None:
    for resume, config in ((None, {"lr": 0.1, "depth": 4}), ("allow", {"lr": 0.05})):
        fanal.init(dir="r", id="a", resume=resume, config=config)
        fanal.log({"loss": 1.0})
        fanal.finish()
    first, second = (attempt.config for attempt in fanal.open("r").runs["a"].attempts)
    assert (first, second) == ({"lr": 0.1, "depth": 4}, {"lr": 0.05, "depth": 4})
    assert {name: (first[name], second[name]) for name in first if first[name] != second[name]} == {"lr": (0.1, 0.05)}


def test_r24_a_run_that_is_killed_straight_after_log_has_its_row_and_its_summary() -> None:
    done = python(
        f"""
        import os, fanal
        fanal.init(dir="r", id="a")
        for step in range(1000): fanal.log({{"loss": 1 / (step + 1), "step": step}})
        os.kill(os.getpid(), {int(signal.SIGKILL)})
        """
    )
    assert done.returncode == -signal.SIGKILL
    view = fanal.open("r").runs["a"]
    assert view.exact("step") == list(range(1000))
    assert view.summary == {"loss": 0.001, "step": 999}
    assert view.attempts[0].outcome is None


def test_r24_a_script_without_finish_loses_nothing() -> None:
    assert (
        python('import fanal; fanal.init(dir="r", id="a"); fanal.log({"x": 1.0}); fanal.config.lr = 2').returncode == 0
    )
    view = fanal.open("r").runs["a"]
    assert (view.exact("x"), view.config) == ([1.0], {"lr": 2})
    assert view.attempts[0].outcome == "finished"


def test_r25_on_a_full_disk_no_call_raises_and_the_training_ends_well() -> None:
    done = python(EVERYTHING)
    assert (done.returncode, done.stdout) == (0, "trained to the end\n"), done.stderr
    said = [line for line in done.stderr.splitlines() if "cannot grow" in line]
    assert len(said) == 1, done.stderr
