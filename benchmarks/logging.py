"""`log()` of 20 and of 4,000 scalars: time a call, quiet and beside a busy thread; bytes a value, live and closed.

Every row is fresh and made outside the timed call; everything on disk is counted; the fsync timer runs and segments
close meanwhile, as they do in a training. Beside it the floor that everybody has: a JSON line a step, flushed. Bars:
20 scalars under 12 µs, p99 under 1 ms with a busy thread; 4,000 under 0.5 ms, p99 under 5 ms; live 9.5 bytes a value,
closed 3.3 on curves that float32 holds and 7.2 on random doubles; a row readable by another process within 50 ms.
"""

import json
import random
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fanal

CASES = {"20 scalars": (20, 10_000), "4,000 scalars": (4_000, 2_500)}
"""Keys and steps; the second closes its first segment at 64 MiB of log."""
Log = Callable[[dict[str, float], int], None]


def measure() -> dict[str, Any]:
    """Each case in a process of its own."""
    figures: dict[str, Any] = {"bars": " ".join((__doc__ or "").partition("Bars:")[2].split())}
    for case in CASES:
        for tool in ("fanal", "json line"):
            for beside in ("quiet", "busy thread"):
                figures[f"{tool}, {case}, {beside}"] = in_child(tool, case, "random", beside)
        figures[f"fanal, {case}, curves"] = in_child("fanal", case, "curves", "quiet")
    with tempfile.TemporaryDirectory() as place:
        figures["readable_after_seconds"] = readable_after(Path(place) / "record")
    return figures


def in_child(tool: str, case: str, kind: str, beside: str) -> dict[str, Any]:
    """One case, measured where nothing else was loaded before."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "benchmarks.logging", tool, case, kind, beside, f"{place}/out"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def one(tool: str, case: str, kind: str, beside: str, out: Path) -> dict[str, Any]:
    """Log every row of a case and time each call."""
    num_keys, num_steps = CASES[case]
    rows = random_rows(num_keys) if kind == "random" else curve_rows(num_keys)
    log, end = fanal_logger(out) if tool == "fanal" else json_logger(out)
    if beside == "busy thread":
        threading.Thread(target=spin, daemon=True).start()
    seconds: list[float] = []
    live_bytes, live_rows = 0, min(num_steps, 2_000 if num_keys == 4_000 else 4_000)
    for step in range(num_steps):
        row = next(rows)
        begun = time.perf_counter()
        log(row, step)
        seconds.append(time.perf_counter() - begun)
        if step + 1 == live_rows:
            live_bytes = size(out)
    begun = time.perf_counter()
    end()
    ordered = sorted(seconds)
    return {
        "median_seconds": statistics.median(ordered),
        "p99_seconds": ordered[int(0.99 * len(ordered))],
        "max_seconds": ordered[-1],
        "finish_seconds": time.perf_counter() - begun,
        "live_bytes_per_value": live_bytes / (live_rows * num_keys),
        "closed_bytes_per_value": size(out) / (num_steps * num_keys),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def fanal_logger(out: Path) -> tuple[Log, Callable[[], None]]:
    """Ours."""
    run = fanal.init(dir=out, id="bench")
    return run.log, fanal.finish


def json_logger(out: Path) -> tuple[Log, Callable[[], None]]:
    """A JSON line a step, handed to the operating system each time."""
    out.mkdir()
    file = (out / "m.jsonl").open("w", encoding="utf-8")

    def log(row: dict[str, float], step: int) -> None:
        file.write(json.dumps({"s": step, "t": time.time(), "m": row}) + "\n")
        file.flush()

    return log, file.close


def names(num_keys: int) -> list[str]:
    """Keys as a trainer names them."""
    return [f"layer_{i // 20:03d}/grad_norm_{i % 20:02d}" for i in range(num_keys)]


def random_rows(num_keys: int) -> Iterator[dict[str, float]]:
    """Random doubles: nothing to compress but their range."""
    draw = random.Random(0).random
    keys = names(num_keys)
    while True:
        yield {key: draw() for key in keys}


def curve_rows(num_keys: int) -> Iterator[dict[str, float]]:
    """Wandering curves of float32, as a trainer's norms are."""
    chance = random.Random(0)
    keys = names(num_keys)
    values = [2.718 ** chance.gauss(0, 1) for _ in keys]
    pack = struct.Struct(f"{num_keys}f")
    while True:
        values = [value * (1 + 0.0025 * chance.gauss(0, 1)) for value in values]
        yield dict(zip(keys, pack.unpack(pack.pack(*values)), strict=True))


def spin() -> None:
    """Python that never waits: what a data loader in a thread does to everybody else."""
    number = 0
    while True:
        number = (number * 1_103_515_245 + 12_345) % (1 << 31)


def size(out: Path) -> int:
    """Bytes of every file."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


WRITER = """
import sys, time, fanal
run = fanal.init(dir=sys.argv[1], id="a")
for n in range(60):
    time.sleep(0.03)
    run.log({"x": float(n)}, n)
time.sleep(0.2)
run.finish()
"""


def readable_after(folder: Path) -> dict[str, float]:
    """From `log()` until another process, which looks each ms, has the row."""
    waits: list[float] = []
    open_record = fanal.open  # asking for it loads the reader, which a viewer has done long before
    with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)]) as writer:
        while not (folder / "manifest.json").exists():
            time.sleep(0.001)
        record, seen = open_record(folder), 0
        while writer.poll() is None:
            if record.refresh() and "a" in record.runs and record.runs["a"].keys():
                now, series = time.time_ns(), record.runs["a"].series("x")
                waits += [(now - int(t)) / 1e9 for t in series.times_ns[seen:]]
                seen = len(series)
            time.sleep(0.001)
    return {"rows": len(waits), "median": statistics.median(waits), "max": max(waits)}


if __name__ == "__main__":
    print(json.dumps(one(*sys.argv[1:5], out=Path(sys.argv[5]))))
