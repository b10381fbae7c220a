"""What logging costs the process that trains: start, memory and open files, after a million calls and 2,000 runs.

Every part in a process of its own. Bars: `import fanal` and `init` within 150 ms and 25 MB over bare Python; memory and
open files flat.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import MEBIBYTE, in_child, num_open_files, spread, status_bytes
from benchmarks.rows import random_rows

STARTS = 7
CALLS = 1_000_000
RUNS = 2_000
KEYS = 20


def measure() -> dict[str, Any]:
    """Start, calls, runs."""
    with tempfile.TemporaryDirectory() as place:
        starts = [started(Path(place) / str(number)) for number in range(STARTS)]
    return {
        "bars": " ".join((__doc__ or "").partition("Bars:")[2].split()),
        "import_and_init_seconds": spread([seconds for seconds, _ in starts]),
        "import_and_init_megabytes": spread([num_bytes / MEBIBYTE for _, num_bytes in starts]),
        f"{CALLS:,} calls": apart("calls"),
        f"{RUNS:,} runs": apart("runs"),
    }


MEMORY = "int([line for line in open('/proc/self/status') if line.startswith('VmRSS')][0].split()[1]) * 1024"
STARTING = f"""
import sys, time
before, began = {MEMORY}, time.perf_counter()
import fanal
run = fanal.init(dir=sys.argv[1], id="a")
print(time.perf_counter() - began, {MEMORY} - before)
run.finish()
"""


def started(folder: Path) -> tuple[float, float]:
    """Seconds and bytes from a Python that has imported nothing to an open run."""
    done = subprocess.run([sys.executable, "-c", STARTING, folder], capture_output=True, text=True, check=True)
    seconds, num_bytes = map(float, done.stdout.split())
    return seconds, num_bytes


def apart(what: str) -> Any:
    """One part in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        return in_child("memory", what, str(Path(place) / "record"))


def calls(folder: str) -> dict[str, Any]:
    """A million rows of one run; the first tenth is warming up."""
    run = importlib.import_module("fanal").init(dir=folder, id="a")
    rows = random_rows(KEYS)
    began = time.perf_counter()
    figures = flat(lambda step: run.log(next(rows), step), CALLS)
    seconds = time.perf_counter() - began
    run.finish()
    return figures | {"seconds": seconds}


def runs(folder: str) -> dict[str, Any]:
    """Run after run in one process and one record."""
    fanal = importlib.import_module("fanal")

    def one(number: int) -> None:
        run = fanal.init(dir=folder, id=f"r{number}")
        run.log({"x": 1.0}, 0)
        run.finish()

    began = time.perf_counter()
    figures = flat(one, RUNS)
    return figures | {"seconds": time.perf_counter() - began}


def flat(work: Callable[[int], Any], times: int) -> dict[str, dict[str, float]]:
    """Memory and open files after a tenth of the work and after all of it."""
    for number in range(times // 10):
        work(number)
    early = taken()
    for number in range(times // 10, times):
        work(number)
    return {"after_a_tenth": early, "at_the_end": taken()}


def taken() -> dict[str, float]:
    """Memory of this process alone, and with the pages of its mapped log; open files."""
    own, resident = (status_bytes(os.getpid(), name) / MEBIBYTE for name in ("RssAnon", "VmRSS"))
    return {"own_megabytes": own, "megabytes": resident, "open_files": num_open_files()}


if __name__ == "__main__":
    print(json.dumps({"calls": calls, "runs": runs}[sys.argv[1]](sys.argv[2])))
