"""Publishing from `init`: starts the publisher and says the address once, when the publisher has said it.

The publisher is a process of its own that outlives the training; nothing here waits for it but a thread that reads the
first line it writes.
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from fanal.record.copies import publishing

if TYPE_CHECKING:
    from fanal.tracker.run import Run

LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 60.0
NOTICE = "fanal: "
"""How lines of the publisher begin that say something else."""
MOST_BYTES = 1 << 16


class Address:
    """Waits for the first line of a publisher."""

    def __init__(self, run: "Run", words: Path, before: int) -> None:
        self._run = run
        self._words = words
        self._before = before
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="fanal-address", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Wait no longer."""
        self._stop.set()
        self._thread.join()

    def _wait(self) -> None:
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            stopped = self._stop.wait(LOOK_SECONDS)
            if found := _address(self._words, self._before):
                self._run.address = found
                self._run.event("published", address=found)
                self._run.notices.once("address", f"is published: {found}")
                return
            if stopped:
                return


def publish(run: "Run", dest: str) -> None:
    """Start the publisher of a run's record; says where its words go where it cannot be started."""
    words = publishing.state_file(publishing.work_of(run.record.path, dest)).with_suffix(".log")
    before = words.stat().st_size if words.is_file() else 0
    try:
        words = publishing.start(run.record.path, dest)
    except OSError as error:
        run.notices.once("publish", f"the publisher cannot start: {error.strerror or error}")
        return
    run.notices.once("publish", f"is being published to {dest}; the publisher's words are in {words}")
    run.helpers.append(Address(run, words, before).stop)


def _address(path: Path, start: int) -> str | None:
    """The first whole line after a place in a file that is no notice."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            text = file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    lines = text.split("\n")[:-1]
    return next((line.strip() for line in lines if line.strip() and not line.startswith(NOTICE)), None)
