"""`log()` of 20 and of 4,000 scalars beside other trackers: time a call, quiet and beside a busy thread; bytes a value.

Every row is fresh and made outside the timed call; everything on disk is counted. A call of 20 scalars comes each
0.3 ms, so that fsync timers tick and segments close in the timed stretch; ours logs 2,500 rows of 4,000, which closes
one, the others 200. A loop ends at its cap of seconds, and the rows it did are said. Tools take turns, repeat after
repeat. Bars: 20 scalars under 12 µs, p99 under 1 ms with a busy thread; 4,000 under 0.5 ms, p99 under 5 ms; live 9.5
bytes a value, closed 3.3 on curves that float32 holds and 7.2 on random doubles; a row readable by another process
within 50 ms.
"""

import importlib
import importlib.metadata
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanal
from benchmarks.measuring import in_child, say, size, spread
from benchmarks.rows import random_rows
from benchmarks.tools import PACKAGES, environment, opened


@dataclass(frozen=True)
class Case:
    """How much is logged in one loop."""

    keys: int
    steps: int
    steps_fanal: int
    seconds_a_step: float
    live_rows: int
    """Rows after which the open log's bytes are counted; before the first segment closes."""


CASES = {"20 scalars": Case(20, 10_000, 10_000, 0.0003, 4_000), "4,000 scalars": Case(4_000, 200, 2_500, 0.0, 2_000)}
TOOLS = ("fanal", "JSON line", *PACKAGES)
BESIDE = ("quiet", "busy thread")
REPEATS = 3
CAP_SECONDS = 3.5
PEER_CAP_SECONDS = 2.0
KILLED_ROWS = 1_000


def measure() -> dict[str, Any]:
    """Every tool and case in a process of its own."""
    figures: dict[str, Any] = {
        "bars": " ".join((__doc__ or "").partition("Bars:")[2].split()),
        "versions": {name: importlib.metadata.version(package) for name, package in PACKAGES.items()},
        "repeats": REPEATS,
        "cap_seconds": {"fanal, JSON line": CAP_SECONDS, "others": PEER_CAP_SECONDS},
        "rows": {case: {"fanal": how.steps_fanal, "others": how.steps} for case, how in CASES.items()},
    }
    found: dict[str, list[dict[str, float]]] = {}
    for repeat in range(REPEATS):
        for case in CASES:
            for tool in TOOLS:
                for beside in BESIDE:
                    name = f"{tool}, {case}, {beside}"
                    found.setdefault(name, []).append(apart(tool, case, "random", beside))
                    say(f"{repeat + 1}/{REPEATS} {name}: {found[name][-1]['median_seconds'] * 1e6:.1f} µs")
    figures |= {name: {part: spread([one[part] for one in ones]) for part in ones[0]} for name, ones in found.items()}
    for case in CASES:
        figures[f"fanal, {case}, curves"] = apart("fanal", case, "curves", "quiet")
    with tempfile.TemporaryDirectory() as place:
        figures["readable_after_seconds"] = readable_after(Path(place) / "record")
        figures["rows_after_sigkill"] = rows_after_sigkill(Path(place) / "killed")
    return figures


def apart(tool: str, case: str, kind: str, beside: str) -> dict[str, float]:
    """One loop, in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "home" / "out"
        out.parent.mkdir()
        return in_child("logging", tool, case, kind, beside, str(out), env=environment(out))


def one(tool: str, case: str, kind: str, beside: str, out: Path) -> dict[str, float]:
    """Log the rows of a case and time each call."""
    how = CASES[case]
    num_steps = how.steps_fanal if tool == "fanal" else how.steps
    make = random_rows if kind == "random" else importlib.import_module("benchmarks.curves").curve_rows
    rows = make(how.keys)
    begun = time.perf_counter()
    log, end = opened(tool, out)
    init_seconds = time.perf_counter() - begun
    if beside == "busy thread":
        threading.Thread(target=spin, daemon=True).start()
    stop = time.perf_counter() + (PEER_CAP_SECONDS if tool in PACKAGES else CAP_SECONDS)
    stop = stop if kind == "random" else float("inf")
    seconds: list[float] = []
    live_bytes = live_rows = 0
    for step in range(num_steps):
        row = next(rows)
        begun = time.perf_counter()
        log(row, step)
        ended = time.perf_counter()
        seconds.append(ended - begun)
        if step + 1 == how.live_rows:
            live_bytes, live_rows = size(out), step + 1
        while (now := time.perf_counter()) < begun + how.seconds_a_step:
            pass  # a training that computes in Python
        if now > stop:
            break
    begun = time.perf_counter()
    end()
    ordered, finish_seconds = sorted(seconds), time.perf_counter() - begun
    num_values = len(seconds) * how.keys
    live = {"live_bytes_per_value": live_bytes / (live_rows * how.keys)} if live_rows else {}
    return {
        "median_seconds": statistics.median(ordered),
        "p99_seconds": ordered[int(0.99 * len(ordered))],
        "max_seconds": ordered[-1],
        "init_seconds": init_seconds,
        "finish_seconds": finish_seconds,
        "rows": len(seconds),
        **live,
        "closed_bytes_per_value": size(out.parent) / num_values,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def spin() -> None:
    """Python that never waits: what a data loader in a thread does to everybody else."""
    number = 0
    while True:
        number = (number * 1_103_515_245 + 12_345) % (1 << 31)


WRITER = """
import sys, time, fanal
run = fanal.init(dir=sys.argv[1], id="a")
for n in range(int(sys.argv[2])):
    time.sleep(float(sys.argv[3]))
    run.log({"x": float(n)}, n)
print("logged", flush=True)
time.sleep(float(sys.argv[4]))
run.finish()
"""


def writer(folder: Path, rows: int, pause: float, rest: float) -> subprocess.Popen[bytes]:
    """A process that logs rows, says so and rests before it ends."""
    command = [sys.executable, "-c", WRITER, str(folder), *map(str, (rows, pause, rest))]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def readable_after(folder: Path) -> dict[str, float]:
    """From `log()` until another process, which looks each ms, has the row."""
    waits: list[float] = []
    open_record = fanal.open  # asking for it loads the reader, which a viewer has done long before
    with writer(folder, 60, 0.03, 0.2) as child:
        while not (folder / "manifest.json").exists():
            time.sleep(0.001)
        record, seen = open_record(folder), 0
        while child.poll() is None:
            if record.refresh() and "a" in record.runs and "x" in record.runs["a"].keys():  # noqa: SIM118  no mapping
                now, series = time.time_ns(), record.runs["a"].series("x")
                waits += [(now - int(t)) / 1e9 for t in series.times_ns[seen:]]
                seen = len(series)
            time.sleep(0.001)
    return {"rows": len(waits), "median": statistics.median(waits), "max": max(waits)}


def rows_after_sigkill(folder: Path) -> int:
    """Rows that are readable after a kill straight after so many calls."""
    with writer(folder, KILLED_ROWS, 0.001, 60.0) as child:
        assert child.stdout is not None
        child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
    return len(fanal.open(folder).runs["a"].series("x"))


if __name__ == "__main__":
    print(json.dumps(one(*sys.argv[1:5], out=Path(sys.argv[5]))))
