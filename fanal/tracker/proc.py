"""Processor, memory, disk, network and threads of this process and its machine, from Linux' /proc and cgroups.

Each reading opens a few small files, a fraction of a millisecond in all. Elsewhere, and where a file is absent, the
reading is left out.
"""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")
MAX_CHILDREN = 512
_UNLIMITED = 1 << 60


class Machine:
    """Readings one after the other; rates are over the time since the one before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before: tuple[float, dict[str, float]] | None = None

    def read(self) -> dict[str, float]:
        """By name after `system/`, what is now."""
        now, counters = time.monotonic(), _counters()
        found = {**_memory(), **_disk(self._folder), **_load(), "threads": float(threading.active_count())}
        if self._before is not None:
            seconds = max(now - self._before[0], 1e-3)
            found |= _rates(self._before[1], counters, seconds)
        self._before = (now, counters)
        return found


def _rates(before: dict[str, float], after: dict[str, float], seconds: float) -> dict[str, float]:
    def since(name: str) -> float:
        return max(after.get(name, 0.0) - before.get(name, 0.0), 0.0)

    found: dict[str, float] = {}
    if "busy" in after and since("total"):
        found["cpu_share"] = since("busy") / since("total")
    found["process/cpu_cores"] = since("own") / seconds
    for name in ("received", "sent"):
        if name in after:
            found[f"network/{name}_bytes_per_second"] = since(name) / seconds
    return found


def _counters() -> dict[str, float]:
    times = os.times()
    found = {"own": times.user + times.system + times.children_user + times.children_system}
    fields = _text(PROC / "stat").split("\n", 1)[0].split()[1:9]
    if len(fields) == 8:
        ticks = [float(field) for field in fields]
        found |= {"total": sum(ticks), "busy": sum(ticks) - ticks[3] - ticks[4]}
    for line in _text(PROC / "net" / "dev").splitlines()[2:]:
        name, _, counts = line.partition(":")
        parts = counts.split()
        if name.strip() != "lo" and len(parts) > 8:
            found["received"] = found.get("received", 0.0) + float(parts[0])
            found["sent"] = found.get("sent", 0.0) + float(parts[8])
    return found


def _memory() -> dict[str, float]:
    found: dict[str, float] = {}
    resident = sum(_resident(pid) for pid in process_tree(os.getpid()))
    if resident:
        found["process/memory_bytes"] = resident
    used, limit = cgroup_memory()
    if used is not None:
        found["cgroup/memory_bytes"] = used
    if limit is not None:
        found["cgroup/memory_limit_bytes"] = limit
    sizes = dict(line.split(":", 1) for line in _text(PROC / "meminfo").splitlines() if ":" in line)
    if "MemTotal" in sizes and "MemAvailable" in sizes:
        total, free = (float(sizes[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        found["memory_used_bytes"] = total - free
    return found


def cgroup_memory(root: Path = CGROUP, own: Path = PROC / "self" / "cgroup") -> tuple[float | None, float | None]:
    """Bytes used by and allowed to this process' control group, of either version."""
    groups = dict(line.split(":", 2)[1:] for line in _text(own).splitlines() if line.count(":") >= 2)
    two = groups.get("")
    places = (
        [(root / two.strip("/"), "memory.current", "memory.max"), (root, "memory.current", "memory.max")] if two else []
    )
    one = next((path for names, path in groups.items() if "memory" in names.split(",")), None)
    if one is not None:
        names = ("memory.usage_in_bytes", "memory.limit_in_bytes")
        places += [(root / "memory" / one.strip("/"), *names), (root / "memory", *names)]
    for folder, used, limit in places:
        if (bytes_used := _number(folder / used)) is not None:
            allowed = _number(folder / limit)
            return bytes_used, allowed if allowed is not None and allowed < _UNLIMITED else None
    return None, None


def process_tree(pid: int) -> Iterator[int]:
    """A process and its children, theirs among them."""
    waiting, num = [pid], 0
    while waiting and num < MAX_CHILDREN:
        found = waiting.pop()
        num += 1
        yield found
        waiting += [int(child) for child in _text(PROC / str(found) / "task" / str(found) / "children").split()]


def _resident(pid: int) -> float:
    fields = _text(PROC / str(pid) / "statm").split()
    return float(fields[1]) * os.sysconf("SC_PAGE_SIZE") if len(fields) > 1 else 0.0


def _disk(folder: Path) -> dict[str, float]:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return {}
    used = 1 - disk.f_bfree / max(disk.f_blocks, 1)
    return {"disk/free_bytes": float(disk.f_bavail * disk.f_frsize), "disk/used_share": used}


def _load() -> dict[str, float]:
    try:
        return {"load": os.getloadavg()[0]}
    except OSError:
        return {}


def _number(path: Path) -> float | None:
    text = _text(path).strip()
    return float(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
