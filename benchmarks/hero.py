"""A 90-day run of 4,000 keys with a row each 190 s, through the real log and the real closing, on a virtual clock.

Days pass as fast as rows can be written: after each day's 455 rows the writer is waited for until it has closed them by
its 24-hour clock; only its thread looks each 10 ms instead of each 0.5 s. Reading is measured in a process of its own,
with the files in the system's cache. Bars: at most 3.3 bytes a value and 1,200 files, all counted; one key in 50 ms,
keys listed in 10 ms; `verify` of 450 MB in 3 s.
"""

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.curves import curves
from benchmarks.measuring import closing_process, in_child, num_files, resident_bytes, say, size
from benchmarks.rows import names
from fanal.record import writer
from fanal.record.attempt import Run, Start, start
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record
from fanal.record.reading.window import window

NUM_KEYS, NUM_DAYS, ROW_SECONDS = 4_000, 90, 190
DAY_SECONDS = 24 * 3600
BEGIN_NS = 1_750_000_000 * 10**9
LOOK_SECONDS = 0.01
WAIT_SECONDS = 60.0
VERIFY_BYTES = 450e6
READS = 5
T = TypeVar("T")


def measure(num_days: int = NUM_DAYS) -> dict[str, Any]:
    """Write the run, then read it in another process."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "record"
        written = in_child("hero", "write", str(folder), str(num_days))
        num_bytes = size(folder)
        figures = {
            "bars": " ".join((__doc__ or "").partition("Bars:")[2].split()),
            **written,
            "bytes": num_bytes,
            "bytes_per_value": num_bytes / written["values"],
            "files": num_files(folder),
            "bytes_by_role": by_role(folder),
        }
        figures |= in_child("hero", "read", str(folder))
        return figures | in_child("hero", "verify", str(folder))


def by_role(folder: Path) -> dict[str, int]:
    """Bytes of a segment's files by what they are, and of all others."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            role = path.name.split(".")[1].rstrip("0123456789") if path.parent.name == "seg" else "else"
            role = "manifests" if role == "json" else role
            found[role] = found.get(role, 0) + path.stat().st_size
    return dict(sorted(found.items(), key=lambda one: -one[1]))


class Clock:
    """The time of the run that is written."""

    def __init__(self) -> None:
        self.now_ns = BEGIN_NS

    def __call__(self) -> int:
        """Nanoseconds since 1970."""
        return self.now_ns


def write(folder: Path, num_days: int) -> dict[str, Any]:
    """The whole run, day after day."""
    writer.SYNC_SECONDS = LOOK_SECONDS
    clock = Clock()
    began = time.monotonic()
    run = start(folder, Start(id="hero", role="hero", clock=clock))
    keys, rows = names(NUM_KEYS), enumerate(curves(NUM_KEYS))
    num_rows, seconds = DAY_SECONDS * num_days // ROW_SECONDS, 0.0
    per_day = math.ceil(DAY_SECONDS / ROW_SECONDS)
    for day in range(num_days):
        for step, values in islice(rows, min(per_day, num_rows - day * per_day)):
            row = dict(zip(keys, values.tolist(), strict=True))
            jitter_ns = int(values[0] * 1e9) % 10**9
            clock.now_ns = BEGIN_NS + step * ROW_SECONDS * 10**9 + jitter_ns
            called = time.perf_counter()
            run.log(row, step)
            seconds += time.perf_counter() - called
        if day + 1 < num_days:
            clock.now_ns = max(clock.now_ns, BEGIN_NS + (day + 1) * per_day * ROW_SECONDS * 10**9)
            await_segment(run, day + 1)
        say(f"day {day + 1} of {num_days}, {time.monotonic() - began:.0f} s")
    run.finish()
    closing = closing_process()
    return {
        "rows": num_rows,
        "values": num_rows * NUM_KEYS,
        "write_seconds": time.monotonic() - began,
        "log_seconds_per_row": seconds / num_rows,
        "closing_cpu_seconds_per_day": closing.cpu_seconds / num_days,
        "closing_peak_memory_bytes": closing.peak_memory_bytes,
    }


def await_segment(run: Run, number: int) -> None:
    """Wait until a day is closed."""
    assert run.place is not None
    path, deadline = run.place.folder / "seg" / f"{number}.json", time.monotonic() + WAIT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} was not there within {WAIT_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS / 2)


def read(folder: Path) -> dict[str, Any]:
    """What a viewer waits for; the first key also reads the steps and times of all rows."""
    before = resident_bytes()
    record, opened = timed(lambda: open_record(folder))
    view = record.runs["hero"]
    keys, listed = timed(view.keys)
    first, first_seconds = timed(lambda: view.series(keys[0]))
    assert len(first) == first.steps[-1] + 1
    others = [timed(lambda key=key: view.series(key))[1] for key in keys[100 :: len(keys) // READS][:READS]]
    narrow, window_seconds = timed(lambda: window(view, keys[50], 0, len(first), 1000))
    return {
        "open_seconds": opened,
        "keys_listed_seconds": listed,
        "keys": len(keys),
        "first_key_seconds": first_seconds,
        "one_key_seconds": max(others),
        "window_of_1000_seconds": window_seconds,
        "window_buckets_read": narrow.num_read,
        "reader_memory_bytes": resident_bytes() - before,
    }


def check(folder: Path) -> dict[str, Any]:
    """How long `verify` takes, and what it says."""
    report, seconds = timed(lambda: verify(folder))
    assert report.ok, report.words
    return {"verify_seconds": seconds, "verify_450_mb_seconds": seconds * VERIFY_BYTES / size(folder)}


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and its seconds."""
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


if __name__ == "__main__":
    what, place, *more = sys.argv[1:]
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "write": lambda: write(Path(place), int(more[0])),
        "read": lambda: read(Path(place)),
        "verify": lambda: check(Path(place)),
    }
    print(json.dumps(parts[what]()))
