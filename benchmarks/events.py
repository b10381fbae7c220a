"""Reading tensorboard's event files, every point with its checksum, beside tensorboard's two own readers.

Points of 20 keys, a record each, as torch's `SummaryWriter` writes them. The data server (a program of its own, which
uses every core) loads the whole file; tensorboard's EventAccumulator reads a twentieth of it, since it is slow, and
both are said in megabytes a second. Bars on 200 MB: ten times EventAccumulator, within twice the data server's time.
"""

import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import in_child, say
from benchmarks.rows import names
from fanal.importers import crc32c
from fanal.importers.event_file import EventFile

FILE_BYTES, SMALL_BYTES = 200_000_000, 10_000_000
NUM_KEYS = 20
FIRST_STEP = 1 << 14
"""Steps from here to 2^21 take three bytes, so that all records are of one length."""
REPEATS = 3
ACCUMULATOR = "tensorboard.backend.event_processing.event_accumulator"
FINISHED = re.compile(rb"load cycle.*?([0-9.]+)(ms|s)\b")


def measure() -> dict[str, Any]:
    """Each reader in a process of its own, in turns."""
    figures: dict[str, Any] = {"bars": " ".join((__doc__ or "").partition("Bars on")[2].split())}
    with tempfile.TemporaryDirectory() as place:
        whole, small = Path(place) / "whole", Path(place) / "small"
        points = {folder: write(folder, size) for folder, size in ((whole, FILE_BYTES), (small, SMALL_BYTES))}
        seconds: dict[str, list[float]] = {}
        for _ in range(REPEATS):
            for reader, folder in (("fanal", whole), ("data_server", whole), ("data_server_checksums", whole)):
                seconds.setdefault(reader, []).append(read(reader, folder, points[folder]))
        for reader in ("fanal", "event_accumulator"):
            seconds[f"{reader}_small"] = [read(reader, small, points[small])]
    for reader, all_seconds in seconds.items():
        size = SMALL_BYTES if reader.endswith("_small") else FILE_BYTES
        figures[f"{reader}_seconds"] = min(all_seconds)
        figures[f"{reader}_megabytes_per_second"] = size / 1e6 / min(all_seconds)
    rate = {name: figures[f"{name}_megabytes_per_second"] for name in ("fanal", "event_accumulator_small")}
    return figures | {
        "points": points[whole],
        "times_event_accumulator": rate["fanal"] / rate["event_accumulator_small"],
        "times_data_server": figures["fanal_seconds"] / figures["data_server_seconds"],
    }


def read(reader: str, folder: Path, points: int) -> float:
    """Seconds of one reading."""
    if reader.startswith("data_server"):
        return data_server(folder, checksums=reader.endswith("checksums"))
    found = in_child("events", reader, str(folder))
    if found["points"] != points:
        raise SystemExit(f"{reader} read {found['points']} points of {points}")
    say(f"{reader}: {found['seconds']:.2f} s")
    return found["seconds"]


def write(folder: Path, num_bytes: int) -> int:
    """An event file of about so many bytes; how many points it has."""
    folder.mkdir()
    event = importlib.import_module("tensorboard.compat.proto.event_pb2").Event
    head = np.frombuffer(event(wall_time=1.0, file_version="brain.Event:2").SerializeToString(), np.uint8)[None, :]
    made = [records(event, tag, 1) for tag in names(NUM_KEYS)]
    num_steps = num_bytes // (sum(one.shape[1] + 16 for one in made))
    chance = np.random.default_rng(0)
    columns = [framed(records(event, tag, num_steps, chance.normal(size=num_steps))) for tag in names(NUM_KEYS)]
    body = np.concatenate(columns, axis=1)  # step after step, a record a key
    (folder / "events.out.tfevents.1.bench.1.0").write_bytes(framed(head).tobytes() + body.tobytes())
    return num_steps * NUM_KEYS


def records(event: Any, tag: str, num: int, values: NDArray[np.float64] | None = None) -> NDArray[np.uint8]:
    """Serialised events of a key: one made by protobuf, and the same with other times, steps and values."""
    said = importlib.import_module("tensorboard.compat.proto.summary_pb2").Summary
    marked = event(wall_time=2.0, step=FIRST_STEP, summary=said(value=[said.Value(tag=tag, simple_value=3.0)]))
    one = marked.SerializeToString()
    at_step, at_value = one.index(b"\x10\x80\x80\x01") + 1, one.index(np.float32(3.0).tobytes())
    rows = np.repeat(np.frombuffer(one, np.uint8)[None, :], num, axis=0)
    steps = FIRST_STEP + np.arange(num)
    rows[:, 1:9] = (1.7e9 + np.arange(num) * 0.25).astype("<f8")[:, None].view(np.uint8)
    rows[:, at_step : at_step + 3] = np.stack([steps & 127 | 128, steps >> 7 & 127 | 128, steps >> 14], axis=1)
    if values is not None:
        rows[:, at_value : at_value + 4] = values.astype("<f4")[:, None].view(np.uint8)
    return rows


def framed(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Records with their length and both checksums."""
    num, length = rows.shape
    lengths = np.full(num, length, "<u8")[:, None].view(np.uint8)
    checks = [crc32c.masked(crc32c.checksums(part)).astype("<u4")[:, None].view(np.uint8) for part in (lengths, rows)]
    return np.concatenate([lengths, checks[0], rows, checks[1]], axis=1)


def data_server(folder: Path, checksums: bool) -> float:
    """Seconds of the data server's first load, as it says itself."""
    binary = importlib.import_module("tensorboard_data_server").server_binary()
    flags = ["--samples-per-plugin", "scalars=all", "--reload", "once", "--port", "0", "-v", "--die-after-stdin"]
    command = [binary, "--logdir", str(folder), *flags, *(["--checksum"] if checksums else [])]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stderr is not None
    assert server.stdin is not None
    said = b""
    for line in server.stderr:
        said += line
        if match := FINISHED.search(line):
            break
    else:
        raise SystemExit(f"the data server said nothing of a load: {said[-1000:]!r}")
    server.stdin.close()
    server.wait()
    return float(match[1]) / (1000 if match[2] == b"ms" else 1)


def fanal(folder: Path) -> int:
    """Every point, by our reader."""
    (path,) = folder.iterdir()
    file = EventFile(path)
    num = sum(int((chunk.columns.tag_ids >= 0).sum()) for chunk in file.read())
    assert not file.unreadable
    return num


def event_accumulator(folder: Path) -> int:
    """Every point, by tensorboard's own reader in Python."""
    reader = importlib.import_module(ACCUMULATOR).EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "tensors": 0}
    )
    reader.Reload()
    return sum(len(reader.Scalars(tag)) for tag in reader.Tags()["scalars"])


if __name__ == "__main__":
    if sys.argv[1] == "event_accumulator":
        importlib.import_module(ACCUMULATOR)  # which takes a second, and is no reading
    reader_of = {"fanal": fanal, "event_accumulator": event_accumulator}[sys.argv[1]]
    began = time.perf_counter()
    num_points = reader_of(Path(sys.argv[2]))
    print(json.dumps({"points": num_points, "seconds": time.perf_counter() - began}))
