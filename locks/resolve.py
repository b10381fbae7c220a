"""Resolves every `locks/*.in` to a hashed `locks/*.txt` that serves Python 3.11 to 3.13 on any system.

No index address enters a lock. `peer` leaves torch out by an override: it may be a build of several
gigabytes, and is installed before the lock by a pip call of its own.
"""

import subprocess
import sys
from pathlib import Path

LOCKS = Path(__file__).parent
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header", "-q"]


def resolve(name: str) -> None:
    """Write `locks/<name>.txt` from `locks/<name>.in`."""
    override = ("--override", "locks/override.txt") if name == "peer" else ()
    files = (f"locks/{name}.in", "-o", f"locks/{name}.txt")
    subprocess.run(
        (sys.executable, "-m", "uv", "pip", "compile", *OPTIONS, *override, *files), check=True, cwd=LOCKS.parent
    )


if __name__ == "__main__":
    for path in sorted(LOCKS.glob("*.in")):
        resolve(path.stem)
        print(f"locks/{path.stem}.txt")
