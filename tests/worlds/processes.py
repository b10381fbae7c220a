"""Other processes that log: scripts in a Python of their own, killed, forked or beside each other."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path


def python(code: str, *arguments: object, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a script to its end; `path` is a folder whose modules it finds first."""
    return subprocess.run(
        _command(code, *arguments), capture_output=True, text=True, check=False, env=_environment(path)
    )


def begin(code: str, *arguments: object, path: Path | None = None) -> "subprocess.Popen[str]":
    """Begin a script, with pipes to talk to it."""
    return subprocess.Popen(
        _command(code, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(path)
    )


def _command(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


def _environment(path: Path | None) -> dict[str, str]:
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(path) if path else None, before)))}
