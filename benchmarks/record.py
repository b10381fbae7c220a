"""What closing costs beside the trainer, how fast tiles and values are made, and how fast a log is read back.

Closing 4,000 keys × 4,096 rows is done by the real closing process from a log that the real writer left. Bars: under
4 s of CPU and 250 MB for it; tiles (reduce, encode, write) at least 12 million values a second and core.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves import curves
from benchmarks.measuring import closing_process, in_child, size
from benchmarks.rows import names
from fanal.record import writer
from fanal.record.attempt import Start, start
from fanal.record.files import write_synced
from fanal.record.segments import segment_write, tiles
from fanal.record.segments.parquet import write_files
from fanal.record.segments.segment_write import SegmentRows
from fanal.record.segments.tail import TailGroup

NUM_KEYS, NUM_ROWS = 4_000, 4_096
TILE_ROWS = 1_024
REPEATS = 5


def measure() -> dict[str, Any]:
    """Closing, and what it is made of."""
    with tempfile.TemporaryDirectory() as place:
        closing = in_child("record", "closing", str(Path(place) / "record"))
        parts = in_child("record", "parts", place)
    return {"bars": " ".join((__doc__ or "").partition("Bars:")[2].split()), **closing, **parts}


def closing(folder: Path) -> dict[str, Any]:
    """Write a log that is closed only at its end, and look at the process that closes it."""
    writer.CLOSE_BYTES = writer.CLOSE_ROWS = 1 << 60  # here alone: the closing process has its own
    run = start(folder, Start(id="wide"))
    keys = names(NUM_KEYS)
    for step, values in enumerate(islice(curves(NUM_KEYS), NUM_ROWS)):
        run.log(dict(zip(keys, values.tolist(), strict=True)), step)
    live_bytes = size(folder)
    began = time.monotonic()
    run.finish()
    seconds, used = time.monotonic() - began, closing_process()
    num_values = NUM_KEYS * NUM_ROWS
    return {
        "closing_values": num_values,
        "closing_cpu_seconds": used.cpu_seconds,
        "closing_peak_memory_megabytes": used.peak_memory_bytes / (1 << 20),
        "closing_wall_seconds": seconds,
        "live_bytes_per_value": live_bytes / num_values,
        "closed_bytes_per_value": size(folder) / num_values,
    }


def parts(folder: Path) -> dict[str, Any]:
    """Values a second and core of each part of closing, the best of some repeats."""
    rows = made_rows()
    paged = ("nonfinite", "min", "max", "mean")
    made = {
        "tiles_reduce": lambda: tiles.build(rows.values_RK),
        "tiles_reduce_encode": lambda: list(write_files(segment_write.tile_groups([rows]), paged)),
        "tiles_reduce_encode_write": lambda: put(folder, write_files(segment_write.tile_groups([rows]), paged)),
        "values_encode": lambda: list(write_files(segment_write.value_groups([rows]), ("value",))),
    }
    return {f"{name}_values_per_cpu_second": rows.values_RK.size / least_cpu(work) for name, work in made.items()}


def made_rows() -> SegmentRows:
    """A group as closing has it."""
    group = TailGroup(tuple(names(NUM_KEYS)))
    for step, values in enumerate(islice(curves(NUM_KEYS), TILE_ROWS)):
        group.steps.append(step)
        group.times_ns.append(step * 10**9)
        group.sequences.append(step + 1)
        group.values += values.tobytes()
        group.types.append("f" * NUM_KEYS)
    return SegmentRows(group, TILE_ROWS, 0)


def put(folder: Path, files: Any) -> None:
    """Files on disk, synced."""
    for number, file in enumerate(files):
        path = folder / f"{number}.parquet"
        path.unlink(missing_ok=True)
        write_synced(path, file.data)


def least_cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of the quickest repeat."""
    seconds: list[float] = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return float(np.min(seconds))


if __name__ == "__main__":
    done = {"closing": closing, "parts": parts}[sys.argv[1]](Path(sys.argv[2]))
    print(json.dumps(done))
