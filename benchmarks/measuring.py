"""What several benchmarks measure with: children's time and memory, sizes of folders, medians with their spread."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Used:
    """What a process has taken so far."""

    cpu_seconds: float
    peak_memory_bytes: int


def closing_process() -> Used:
    """What the closing process of this process has taken; it lives on for some seconds after its work."""
    (child,) = (p for p in psutil.Process().children() if "fanal.record.segments.close" in p.cmdline())
    return Used(sum(child.cpu_times()[:2]), status_bytes(child.pid, "VmHWM"))


def status_bytes(pid: int, name: str) -> int:
    """A line of what the kernel says of a process' memory: VmRSS now, RssAnon without mapped files, VmHWM at most."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel says how much memory a process has")


def resident_bytes() -> int:
    """Memory of this process that is in use now."""
    return status_bytes(os.getpid(), "VmRSS")


def in_child(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
    """What a benchmark's own module prints as JSON, run where nothing else was loaded before.

    Raises:
        SystemExit: it failed; with what it said.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def size(folder: Path) -> int:
    """Bytes of every file."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def num_files(folder: Path) -> int:
    """How many files there are."""
    return sum(path.is_file() for path in folder.rglob("*"))


def num_open_files() -> int:
    """Open files of this process."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  names are enough


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, least and greatest of repeats."""
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def say(words: str) -> None:
    """Progress, for who waits."""
    print(words, file=sys.stderr, flush=True)
