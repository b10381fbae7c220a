"""Who writes: the owner file's fields, and whether that process still lives.

A process is known by its number and start time, and by where these count (boot and process namespace, hashed). Of a
process elsewhere (another machine or container) only its log's last change tells: the writer touches it every 5 s.
Nothing names a host, a path or a user.
"""

import hashlib
import os
import time
from pathlib import Path
from typing import Any

from fanal.record.files import DamagedError, read_document
from fanal.record.layout import LOG, OWNER_FILE, WriterPath, numbered

TOUCH_SECONDS = 5.0
SILENT_SECONDS = 30.0
"""A process elsewhere that has not touched its log for so long counts as dead."""


def owner_fields(created_ns: int, version: str) -> dict[str, Any]:
    """What the owner file says of this process."""
    pid = os.getpid()
    return {
        "pid": pid,
        "process_start": process_start(pid),
        "place": place_of_processes(),
        "created_ns": created_ns,
        "fanal": version,
    }


def is_alive(owner: dict[str, Any], writer: WriterPath) -> bool:
    """Whether the process that owns `writer` may still write."""
    if owner.get("place") != place_of_processes():
        return time.time() - _last_change(writer.folder / LOG) < SILENT_SECONDS
    pid = owner.get("pid")
    if not isinstance(pid, int) or not _exists(pid):
        return False
    started = process_start(pid)
    return started is not None and started == owner.get("process_start")


def process_start(pid: int) -> str | None:
    """When a process began, in the kernel's own count; None for one that is gone or only waits to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "unknown" if not Path("/proc/self/stat").exists() and _exists(pid) else None
    except (PermissionError, ProcessLookupError):
        return None
    after_name = stat.rpartition(")")[2].split()
    return None if after_name[0] in "ZX" else after_name[19]


def place_of_processes() -> str:
    """Where process numbers count: a hash of this boot and this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115  it is no path
    except OSError:
        boot, namespace = "", ""
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:16]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _last_change(folder: Path) -> float:
    changes = [(folder / f"{number}.log").stat().st_mtime for number in numbered(folder, ".log")]
    return max(changes, default=0.0)


def withheld_reason(place: WriterPath) -> str | None:
    """Why nothing of a writer but its owner file is published; None where it is."""
    try:
        reason = read_document(place.folder / OWNER_FILE).get("withheld")
    except DamagedError:
        return "its owner file is damaged"
    except FileNotFoundError:
        return "it has no owner file"
    return None if reason is None else str(reason)
