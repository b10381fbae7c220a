"""The firefly campaign as a person runs it: the command line in a process of its own, and what it leaves."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Finished:
    """A campaign's folder after its run."""

    folder: Path
    stdout: str

    @property
    def record(self) -> Path:
        return self.folder / "record"

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_text("utf-8"))


def environment() -> dict[str, str]:
    """This process's, without what the tests set for JAX: a person's machine has one device."""
    return {k: v for k, v in os.environ.items() if k != "XLA_FLAGS" and not k.startswith("JAX_")}


def fanal(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(command(words), cwd=cwd, env=environment(), capture_output=True, text=True, timeout=280)


def command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "fanal", *words]


def start_until(words: Sequence[str], cwd: Path, seen: Callable[[], bool]) -> subprocess.Popen[bytes]:
    """Start the command line and return it, still running, once `seen()`."""
    process = subprocess.Popen(command(words), cwd=cwd, env=environment(), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not seen():
        assert process.poll() is None, f"{words} ended with {process.returncode} before it was seen"
        assert time.monotonic() < deadline, f"{words} was not seen within 240 s"
        time.sleep(0.02)
    return process


def final_leaves(folder: Path) -> Mapping[str, str]:
    """SHA-256 of every leaf of the hero's last state, from its checkpoint's manifest."""
    steps = sorted((folder / "ckpt" / "hero").glob("step-*"), key=lambda p: int(p.name.removeprefix("step-")))
    manifest = json.loads((steps[-1] / "manifest.json").read_text("utf-8"))
    return {leaf["name"]: leaf["sha256"] for leaf in manifest["leaves"]}
