"""Disks that are small or cannot be written: a file system in memory where this user may mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def may_mount(folder: Path) -> bool:
    """Whether this user can mount a file system of his own."""
    folder.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
        return False
    subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system in memory, with mount options such as `size=1m`."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def remount(folder: Path, options: str) -> None:
    """Change the options of a mounted file system, e.g. its size."""
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)
