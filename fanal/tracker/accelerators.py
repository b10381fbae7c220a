"""Accelerators as their own libraries see them: NVIDIA's through NVML or `nvidia-smi`, others through a loaded JAX.

Whatever is absent is left out. NVML is asked in this process; `nvidia-smi`, which takes a tenth of a second of its own
process, only where NVML's Python package is not installed.
"""

import os
import subprocess
from importlib import import_module
from typing import Any

from fanal.tracker.environment import jax_devices

_QUERY = ("utilization.gpu", "memory.used", "memory.total", "temperature.gpu", "power.draw")
_NAMES = ("busy_share", "memory_bytes", "memory_limit_bytes", "temperature_celsius", "power_watts")
_SCALES = (0.01, float(1 << 20), float(1 << 20), 1.0, 1.0)
_SMI_SECONDS = 5.0


class Accelerators:
    """The accelerators of this machine, found once."""

    def __init__(self) -> None:
        self._nvml: Any = _nvml()
        self._smi = None if self._nvml else _smi()

    def read(self) -> dict[str, float]:
        """By name after `system/`, what is now."""
        found = self._from_nvml() if self._nvml else self._from_smi() if self._smi else {}
        return found or _from_jax()

    def _from_nvml(self) -> dict[str, float]:
        nvml, found = self._nvml, dict[str, float]()
        try:
            for number in range(nvml.nvmlDeviceGetCount()):
                device = nvml.nvmlDeviceGetHandleByIndex(number)
                memory = nvml.nvmlDeviceGetMemoryInfo(device)
                found[f"gpu{number}/memory_bytes"] = float(memory.used)
                found[f"gpu{number}/memory_limit_bytes"] = float(memory.total)
                for name, ask in self._readings(device).items():
                    try:
                        found[f"gpu{number}/{name}"] = float(ask())
                    except nvml.NVMLError:  # not every device knows every reading
                        continue
        except nvml.NVMLError:
            self._nvml = None
        return found

    def _readings(self, device: Any) -> dict[str, Any]:
        nvml = self._nvml
        return {
            "busy_share": lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100,
            "temperature_celsius": lambda: nvml.nvmlDeviceGetTemperature(device, 0),
            "power_watts": lambda: nvml.nvmlDeviceGetPowerUsage(device) / 1000,
        }

    def _from_smi(self) -> dict[str, float]:
        command = [str(self._smi), f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=False)
        except (OSError, subprocess.SubprocessError):
            self._smi = None
            return {}
        return parse_smi(done.stdout) if done.returncode == 0 else {}


def parse_smi(text: str) -> dict[str, float]:
    """What `nvidia-smi` printed, a line a device; readings that a device does not have are left out."""
    found: dict[str, float] = {}
    for number, line in enumerate(text.strip().splitlines()):
        for name, scale, part in zip(_NAMES, _SCALES, line.split(","), strict=False):
            try:
                found[f"gpu{number}/{name}"] = float(part) * scale
            except ValueError:
                continue
    return found


def _smi() -> str | None:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return next((path for folder in folders if os.access(path := f"{folder}/nvidia-smi", os.X_OK)), None)


def _nvml() -> Any:
    try:
        nvml: Any = import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:  # no driver, no device
        return None
    return nvml


def _from_jax() -> dict[str, float]:
    found: dict[str, float] = {}
    for number, device in enumerate(jax_devices()):
        try:
            stats: dict[str, Any] = device.memory_stats() or {}
        except RuntimeError:
            continue
        if "bytes_in_use" in stats:
            found[f"accelerator{number}/memory_bytes"] = float(stats["bytes_in_use"])
        if "bytes_limit" in stats:
            found[f"accelerator{number}/memory_limit_bytes"] = float(stats["bytes_limit"])
    return found
