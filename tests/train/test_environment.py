"""The environment before JAX: pure, and what a person set stays."""

import json
import subprocess
import sys
from pathlib import Path

from fanal.train.environment import cache_folder, environment


def test_compiled_programs_are_kept_under_the_named_cache() -> None:
    assert cache_folder({"FANAL_CACHE": "/c"}) == Path("/c/xla")
    assert cache_folder({}) == Path.home() / ".cache" / "fanal" / "xla"


def test_everything_is_set_in_an_empty_environment() -> None:
    assert environment({"FANAL_CACHE": "/c"}) == {
        "JAX_COMPILATION_CACHE_DIR": "/c/xla",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_FLAGS": "--xla_backend_optimization_level=1",
    }


def test_what_a_person_has_set_stays() -> None:
    mine = {"JAX_COMPILATION_CACHE_DIR": "/mine", "XLA_FLAGS": "--xla_backend_optimization_level=0 --other"}
    assert environment(mine).keys().isdisjoint(mine)


def test_other_flags_of_a_person_are_kept_beside_ours() -> None:
    assert environment({"XLA_FLAGS": "--other=1"})["XLA_FLAGS"] == "--other=1 --xla_backend_optimization_level=1"


def test_reading_it_loads_no_jax_and_jax_takes_it(tmp_path: Path) -> None:
    script = """
import json, os, sys
from fanal.train.environment import environment
assert not {"jax", "numpy", "equinox"} & set(sys.modules)
os.environ.update(environment({"FANAL_CACHE": sys.argv[1]}))
import jax
jax.jit(lambda x: x * 2 + 1)(3.0)
print(json.dumps([p for p in os.listdir(os.path.join(sys.argv[1], "xla")) if "lambda" in p]))
"""
    env = {"PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env=env, capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) != []
