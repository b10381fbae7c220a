"""The page's server as a child process: the trainer and the page share nothing but the record's files.

`python -m fanal.page.process PATH PORT` is `fanal serve` that also ends when its standard input closes, so that
it ends with its parent, however that ends. It prints its address as its first line.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fanal.errors import FanalError
from fanal.page.server import serve


@contextmanager
def page_process(path: Path, port: int) -> Generator[str]:
    """Serve `path` (which need not exist yet) beside this process; yields the address.

    Raises:
        FanalError: the server ended before it had an address; its own words are on standard error.
    """
    command = [sys.executable, "-m", "fanal.page.process", str(path), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            address = child.stdout.readline().strip()
            if not address:
                raise FanalError(f"the page's server ended with code {child.wait()} before it had an address")
            yield address
        finally:
            child.terminate()


def _end_with_parent() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve(Path(sys.argv[1]), port=int(sys.argv[2]))
