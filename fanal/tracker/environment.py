"""What an attempt ran on: `environment` for everybody; `process` (arguments, paths, names), which is withheld.

Secrets are replaced before anything is written. Only variables that training depends on are kept, by the beginnings
of their names. Takes a millisecond or two, and imports nothing that the script has not.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanal.tracker.run import Run

PACKAGES = (
    *("jax", "jaxlib", "flax", "equinox", "optax", "orbax", "torch", "numpy", "transformers", "accelerate"),
    *("lightning", "datasets", "tokenizers", "deepspeed", "triton", "flash_attn", "tensorflow", "fanal"),
)
VARIABLES = (
    *("CUDA_", "NVIDIA_VISIBLE", "NCCL_", "XLA_", "JAX_", "TPU_", "LIBTPU_", "HIP_", "ROCR_", "TORCH_", "PYTORCH_"),
    *("OMP_", "MKL_", "SLURM_", "RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "FANAL_", "WANDB_", "PYTHONHASHSEED"),
)
"""Beginnings of the names of variables that training depends on."""
_VERSION_CHARS = 100


def begin(run: "Run") -> None:
    """Record what the attempt runs on, and how its process was started."""
    run.record.event("environment", **environment())
    run.record.event("process", **process(os.environ))


def environment() -> dict[str, Any]:
    """The fields of the `environment` event: nothing that names people, machines or paths."""
    machine = os.uname()
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": f"{machine.sysname} {machine.machine}",
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "devices": {"processors": os.cpu_count(), "memory_bytes": _memory_bytes(), **_accelerators()},
    }


def process(environ: Mapping[str, str]) -> dict[str, Any]:
    """The fields of the `process` event."""
    kept = {name: value for name, value in sorted(environ.items()) if name.startswith(VARIABLES)}
    return {
        "argv": list(sys.argv),
        "executable": sys.executable,
        "folder": str(Path.cwd()),
        "host": os.uname().nodename,
        "user": environ.get("USER") or environ.get("LOGNAME"),
        "environment": kept,
    }


def _version(name: str) -> str | None:
    """The version of a module that the script has loaded."""
    found = getattr(sys.modules.get(name), "__version__", None)
    return str(found)[:_VERSION_CHARS] if isinstance(found, str) else None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _accelerators() -> dict[str, Any]:
    """Kind and count, as the framework that is loaded says; none is started for it."""
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and callable(getattr(cuda, "is_initialized", None)) and cuda.is_initialized():
        return {"accelerators": [{"kind": cuda.get_device_name(i), "count": 1} for i in range(cuda.device_count())]}
    devices = jax_devices()
    kinds = [str(getattr(device, "device_kind", "")) for device in devices]
    counted = [{"kind": kind, "count": kinds.count(kind)} for kind in dict.fromkeys(kinds)]
    return {"accelerators": counted} if counted else {}


def jax_devices() -> list[Any]:
    """JAX's accelerators of this process, where JAX is loaded and has started them already."""
    if "jax" not in sys.modules:
        return []
    try:
        bridge: Any = import_module("jax._src.xla_bridge")
        if not bridge.backends_are_initialized():
            return []
        return [device for device in sys.modules["jax"].local_devices() if device.platform != "cpu"]
    except (ImportError, AttributeError, RuntimeError):
        return []
