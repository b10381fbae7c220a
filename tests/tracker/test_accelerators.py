"""Accelerators are read through what is installed, and without any there is no reading."""

from typing import Any

import pytest

import fanal
from fanal.tracker import accelerators
from fanal.tracker.accelerators import Accelerators, parse_smi


def test_nvidia_smi_is_read_a_line_a_device() -> None:
    found = parse_smi("45, 1024, 40960, 61, 250.5\n0, 3, 40960, 30, [N/A]\n")
    assert found["gpu0/busy_share"] == 0.45
    assert found["gpu0/memory_bytes"] == 1 << 30
    assert found["gpu0/power_watts"] == 250.5
    assert "gpu1/power_watts" not in found
    assert found["gpu1/temperature_celsius"] == 30


class Nvml:
    """As much of NVML as is asked for: two devices, of which the second does not know its power."""

    class NVMLError(Exception):
        pass

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:  # noqa: N802
        return number

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:  # noqa: N802
        return fanal.Settings(used=100 + device, total=1000)

    def nvmlDeviceGetUtilizationRates(self, _: int) -> Any:  # noqa: N802
        return fanal.Settings(gpu=50)

    def nvmlDeviceGetTemperature(self, *_: int) -> int:  # noqa: N802
        return 60

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:  # noqa: N802
        if device:
            raise self.NVMLError
        return 250_000


def test_nvml_is_asked_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "_nvml", Nvml)
    found = Accelerators().read()
    assert (found["gpu0/power_watts"], found["gpu0/busy_share"], found["gpu1/memory_bytes"]) == (250.0, 0.5, 101.0)
    assert "gpu1/power_watts" not in found


def test_without_any_accelerator_there_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerators, "_nvml", lambda: None)
    monkeypatch.setattr(accelerators, "_smi", lambda: None)
    monkeypatch.setattr(accelerators, "jax_devices", list)
    assert Accelerators().read() == {}
    device = fanal.Settings(memory_stats=lambda: {"bytes_in_use": 5, "bytes_limit": 10})
    monkeypatch.setattr(accelerators, "jax_devices", lambda: [device])
    assert Accelerators().read() == {"accelerator0/memory_bytes": 5.0, "accelerator0/memory_limit_bytes": 10.0}
