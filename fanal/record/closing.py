"""Starts the closing process and waits for it: `python -m fanal.record.close`, of low priority, never a fork.

The process that trains loads neither numpy nor pyarrow for it. One closing runs at a time for a writer; when one fails,
what was logged stays readable in the log, and the last line it said is passed on.
"""

import os
import subprocess
import sys
from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[2]
RUN_AS = ("-P", "-m", "fanal.record.close")


class Closing:
    """The closing process of one writer."""

    def __init__(self, writer_folder: Path) -> None:
        self._folder = writer_folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        """Close what is due, unless a closing still runs; whether one was started."""
        if self._process is not None:
            return False
        self._process = _start(self._folder)
        return True

    def result(self, wait: bool = False) -> str | None:
        """Why the closing that ended failed, or None; with `wait`, wait for it to end."""
        process = self._process
        if process is None or (not wait and process.poll() is None):
            return None
        self._process = None
        return _end(process)

    def finish(self) -> str | None:
        """Close all that is left and write the manifest, and wait for it; why that failed, or None."""
        self.result(wait=True)  # where that one failed, this one does its work again
        return close_writer(self._folder)


def close_writer(folder: Path) -> str | None:
    """Close everything of a writer whose process is gone; why that failed, or None."""
    try:
        return _end(_start(folder, "--all"))
    except OSError as error:
        return f"the closing process cannot start: {error.strerror or error}"


def _start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, (str(PACKAGE_PARENT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, *RUN_AS, *options, str(folder.resolve())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C at the terminal is for the training
    )


def _end(process: subprocess.Popen[bytes]) -> str | None:
    try:
        _, said = process.communicate()
    except KeyboardInterrupt:
        process.communicate()  # it takes a second, and nobody shall find it at work after us
        raise
    if process.returncode == 0:
        return None
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with code {process.returncode}"
