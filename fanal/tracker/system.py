"""System metrics: a row of `system/*` keys every ten seconds from a thread of its own, off with `FANAL_SYSTEM=0`.

They belong to no step: their `metric` events say that their axis is time. A reading takes well under a millisecond of
processor time (accelerators aside), less than 0.1 % of a core. A training that hangs goes on being measured.
"""

import threading
import time
from typing import TYPE_CHECKING, Any

from fanal.tracker.accelerators import Accelerators
from fanal.tracker.proc import Machine

if TYPE_CHECKING:
    from fanal.tracker.run import Run

SOURCE = "fanal/tracker/system.py"
MAX_HELD = 1000
MEANINGS = (
    ("system/cpu_share", "Share of the machine's processor time that was busy", ""),
    ("system/load", "Processes running or waiting, mean of the last minute", "processes"),
    ("system/threads", "Python threads of this process", "threads"),
    ("system/memory_used_bytes", "Memory of the machine that is not available", "bytes"),
    ("system/process/cpu_cores", "Processor time of this process and its finished children over wall time", "cores"),
    ("system/process/memory_bytes", "Resident memory of this process and its children", "bytes"),
    ("system/cgroup/memory_bytes", "Memory used by the control group (container)", "bytes"),
    ("system/cgroup/memory_limit_bytes", "Memory that the control group may use", "bytes"),
    ("system/disk/free_bytes", "Free space of the disk that holds the record", "bytes"),
    ("system/disk/used_share", "Share of the disk that holds the record in use", ""),
    ("system/network/*", "Bytes that the machine's network received or sent", "bytes/s"),
    ("system/gpu*/busy_share", "Share of time in which the GPU ran anything", ""),
    ("system/gpu*/memory_*", "Memory of the GPU", "bytes"),
    ("system/gpu*/temperature_celsius", "Temperature of the GPU", "°C"),
    ("system/gpu*/power_watts", "Power that the GPU draws", "W"),
    ("system/accelerator*", "Memory of the accelerator as its framework counts it", "bytes"),
)


class System:
    """Follows a run's machine until it is stopped."""

    def __init__(self, run: "Run", seconds: float) -> None:
        self._run = run
        self._seconds = max(seconds, 0.1)
        self._machine = Machine(run.record.path)
        self._stop = threading.Event()
        self._described = False
        self._held: list[tuple[dict[str, float], int]] = []
        """Rows and their times from before the run's first row, whose step they must not go below."""
        self._thread = threading.Thread(target=self._follow, name="fanal-system", daemon=True)

    def start(self) -> None:
        """Begin; the first row comes after the first interval."""
        self._machine.read()
        self._thread.start()

    def stop(self) -> None:
        """End; no row comes afterwards."""
        self._stop.set()
        self._thread.join()
        self._write()

    def _follow(self) -> None:
        accelerators: Accelerators | None = None
        while not self._stop.wait(self._seconds):
            accelerators = accelerators or Accelerators()
            found = {**self._machine.read(), **accelerators.read()}
            if len(self._held) < MAX_HELD:
                self._held.append(({f"system/{name}": value for name, value in found.items()}, time.time_ns()))
            if self._run.last_step is not None:
                self._write()

    def _write(self) -> None:
        if self._held and not self._described:
            self._described = True
            for pattern, text, unit in MEANINGS:
                described: dict[str, Any] = {"pattern": pattern, "text": text, "unit": unit or None, "source": SOURCE}
                self._run.record.event("metric", **described, axis="time")
        step = self._run.step if self._run.last_step is None else self._run.last_step
        for row, time_ns in self._held:
            self._run.record.log(row, step, time_ns)
        self._held.clear()
