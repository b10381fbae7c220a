"""The page's server as a child process: the trainer and the page share nothing but the record's files.

The child is `fanal serve`; it prints its address as its first line, and is ended when the block is left.
"""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fanal.errors import FanalError


@contextmanager
def page_process(path: Path, port: int) -> Generator[str]:
    """Serve `path` (which need not exist yet) beside this process; yields the address.

    Raises:
        FanalError: the server ended before it had an address; its own words are on standard error.
    """
    command = [sys.executable, "-m", "fanal", "serve", str(path), "--port", str(port)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        address = child.stdout.readline().strip()
        if not address:
            raise FanalError(f"the page's server ended with code {child.wait()} before it had an address")
        yield address
    finally:
        child.terminate()
        child.wait(timeout=10)
        child.stdout.close()
