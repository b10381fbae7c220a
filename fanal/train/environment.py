"""What must stand in the environment before JAX is imported, as a pure function; loads no JAX.

Guarantees that a second start finds its compiled steps on disk, whatever their size. Costs nothing.
It does not change the process: the command line puts these values into `os.environ` itself.
"""

from collections.abc import Mapping
from pathlib import Path

from fanal.data.fetch import default_cache

OPTIMIZATION_FLAG = "--xla_backend_optimization_level"
OPTIMIZATION_LEVEL = 1
"""Level 1 compiles a step a fifth faster than the default and runs it as fast; level 0 runs it at half the speed."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where compiled programs are kept: `$FANAL_CACHE/xla`, else `~/.cache/fanal/xla`."""
    return default_cache(environ) / "xla"


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set before the first `import jax`; what a person has set already stays theirs."""
    wanted = {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder(environ)),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    values = {name: value for name, value in wanted.items() if name not in environ}
    flags = environ.get("XLA_FLAGS", "")
    if OPTIMIZATION_FLAG not in flags:
        values["XLA_FLAGS"] = f"{flags} {OPTIMIZATION_FLAG}={OPTIMIZATION_LEVEL}".strip()
    return values
