"""The closing process, as the process that logs sees it: one, begun at first need, fed through a pipe.

`python -m fanal.record.segments.close`, of low priority, never a fork: the process that trains loads no numpy for it.
It ends with its parent, when told, and after `IDLE_SECONDS` without work. When it dies a new one is asked once more;
when that fails too, what was logged stays readable in the log and the last line it said is passed on.
"""

import atexit
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[3]
RUN_AS = ("-P", "-m", "fanal.record.segments.close")
IDLE_SECONDS = 10.0
DUE, AGED, ALL = "due", "aged", "all"
"""Close what is due; everything that is there now; everything, and nothing comes after."""
POLL_SECONDS = 0.05
TRIES = 2


class Closing:
    """The closing of one writer."""

    def __init__(self, writer_folder: Path) -> None:
        self._folder = writer_folder.resolve()
        self._ticket: int | None = None

    def start(self, what: str = DUE) -> bool:
        """Have it done, unless a closing of this writer still runs; whether it was asked for.

        Raises:
            OSError: the closing process cannot start.
        """
        if self._ticket is not None:
            return False
        self._ticket = _server().ask(self._folder, what)
        return True

    def result(self, wait: bool = False) -> str | None:
        """Why the closing that ended failed, or None; with `wait`, wait for it to end."""
        ticket = self._ticket
        if ticket is None or not _server().is_done(ticket, wait):
            return None
        self._ticket = None
        return _server().answer(ticket)

    def finish(self) -> str | None:
        """Close all that is left and write the manifest, and wait for it; why that failed, or None."""
        self.result(wait=True)  # where that one failed, this one does its work again
        return close_writer(self._folder)


def close_writer(folder: Path) -> str | None:
    """Close everything of a writer that nobody writes any more; why that failed, or None."""
    try:
        ticket = _server().ask(folder.resolve(), ALL)
        _server().is_done(ticket, wait=True)
    except OSError as error:
        return f"the closing process cannot start: {error.strerror or error}"
    return _server().answer(ticket)


class Server:
    """The closing process of this process; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets = count(1)
        self._asked: dict[int, tuple[Path, str, int]] = {}
        """What is not answered yet: folder, what, and how often a process was asked."""
        self._answers: dict[int, str | None] = {}
        self._pid = 0
        self._requests = self._replies = -1
        self._unread = b""
        self._last_said = ""

    def ask(self, folder: Path, what: str) -> int:
        """Have a writer closed; the ticket for the answer.

        Raises:
            OSError: the closing process cannot start.
        """
        with self._lock:
            self._poll(0)
            ticket = next(self._tickets)
            self._asked[ticket] = (folder, what, 0)
            try:
                self._send(ticket)
            except OSError:
                del self._asked[ticket]
                raise
            return ticket

    def is_done(self, ticket: int, wait: bool) -> bool:
        """Whether the answer is there; with `wait`, wait until it is."""
        while True:
            with self._lock:
                if ticket in self._asked:
                    self._poll(POLL_SECONDS if wait else 0)
                if ticket not in self._asked:
                    return True
            if not wait:
                return False
            time.sleep(0)  # another thread may want an answer too

    def answer(self, ticket: int) -> str | None:
        """Why the closing failed; None where it did not. Asked once."""
        with self._lock:
            return self._answers.pop(ticket, None)

    def stop(self) -> None:
        """End the process when it has done what it was asked."""
        with self._lock:
            self._end()
            for ticket in self._asked:
                self._answers[ticket] = "the closing process was told to end"
            self._asked = {}

    def forget(self) -> None:
        """In a forked child: the process is the parent's."""
        self._lock = threading.Lock()
        self._close_pipes()
        self._pid = 0
        self._asked, self._answers = {}, {}

    def _send(self, ticket: int) -> None:
        folder, what, tries = self._asked[ticket]
        self._asked[ticket] = (folder, what, tries + 1)
        request = json.dumps([ticket, what, os.fspath(folder)]).encode() + b"\n"
        if self._pid:
            try:
                os.write(self._requests, request)
                return
            except BrokenPipeError:  # it had nothing to do for long, or was killed: the others' answers are lost too
                self._replace(but=ticket)
        if not self._pid:
            self._begin()
        os.write(self._requests, request)

    def _begin(self) -> None:
        theirs, self._requests = os.pipe()
        answers = -1
        try:
            self._replies, answers = os.pipe()
            self._pid = _spawn(theirs, answers)
        except OSError:
            self._close_pipes()
            raise
        finally:
            os.close(theirs)
            if answers >= 0:
                os.close(answers)
        self._unread, self._last_said = b"", ""

    def _poll(self, seconds: float) -> None:
        """Take what it has answered; wait for that up to `seconds`."""
        while self._pid and _is_readable(self._replies, seconds):
            said = os.read(self._replies, 1 << 16)
            if not said:
                self._replace()
                return
            *lines, self._unread = (self._unread + said).split(b"\n")
            for line in lines:
                self._take(line)
            seconds = 0

    def _take(self, line: bytes) -> None:
        if line.startswith(b"[") and line.endswith(b"]"):
            ticket, failed = json.loads(line)
            self._asked.pop(ticket, None)
            self._answers[ticket] = failed
        elif line.strip():
            self._last_said = line.decode(errors="replace").strip()

    def _replace(self, but: int | None = None) -> None:
        """The process is gone: ask a new one what is open, once, and then give the reason."""
        self._take(self._unread)
        self._unread, code = b"", self._end()
        for ticket, (_, _, tries) in list(self._asked.items()):
            if ticket == but:
                continue
            if tries < TRIES:
                try:
                    self._send(ticket)
                    continue
                except OSError as error:
                    self._last_said = f"the closing process cannot start: {error.strerror or error}"
            del self._asked[ticket]
            self._answers[ticket] = self._last_said or f"the closing process ended with code {code}"

    def _end(self) -> int:
        pid, self._pid = self._pid, 0
        self._close_pipes()
        if not pid:
            return 0
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:  # the program waits for all its children itself
            return 0

    def _close_pipes(self) -> None:
        for handle in (self._requests, self._replies):
            if handle >= 0:
                with suppress(OSError):
                    os.close(handle)
        self._requests = self._replies = -1


def _is_readable(handle: int, seconds: float) -> bool:
    """Whether something can be read, or the other end is gone; `select` knows no handle above 1023."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _spawn(requests: int, answers: int) -> int:
    """Begin the process with these as its standard input and output; its number.

    Raises:
        OSError: it cannot start.
    """
    path = os.pathsep.join(filter(None, (os.fspath(PACKAGE_PARENT), os.environ.get("PYTHONPATH"))))
    handles = ((requests, 0), (answers, 1), (answers, 2))
    spawn = partial(
        os.posix_spawn,
        sys.executable,
        [sys.executable, *RUN_AS],
        {**os.environ, "PYTHONPATH": path},
        file_actions=[(os.POSIX_SPAWN_DUP2, theirs, number) for theirs, number in handles],
        setsigdef=[signal.SIGPIPE],
    )
    try:
        return spawn(setsid=True)  # Ctrl-C at the terminal is for the training
    except NotImplementedError:
        return spawn()


_the_server = Server()


def stop() -> None:
    """End this process' closing process when it has done what it was asked; another begins when one is needed."""
    _the_server.stop()


def _server() -> Server:
    return _the_server


atexit.register(stop)
os.register_at_fork(after_in_child=_the_server.forget)
