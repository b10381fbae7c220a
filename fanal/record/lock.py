"""One process at a time, without `flock`, which network file systems and mounted buckets often lack.

A lock is a folder made by `mkdir`, and in it one file whose name says who holds it. Who finds its holder dead renames
that file to his own, which only one can; a holder elsewhere (another machine or container) counts as dead after
`SILENT_SECONDS` without a change. Costs four calls on names, no fsync. The folder's name begins with `.tmp-`: it is no
part of a record. It is no lock against a process that was stopped for longer than that and then goes on.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fanal.record.files import TEMPORARY_PREFIX
from fanal.record.owner import SILENT_SECONDS, place_of_processes, process_start

FIRST_WAIT_SECONDS = 0.001
LONGEST_WAIT_SECONDS = 0.05
EMPTY_SECONDS = 1.0
"""A lock that names no holder for so long was left by a process killed between two calls."""
LONGEST_HELD_SECONDS = 120.0
"""Who waits longer for a living holder gives up."""

_TOKEN = re.compile(r"[0-9a-f]+-[0-9]+-[0-9a-z]+-[0-9a-f]+")


@contextmanager
def held(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock `name` of a folder; wait for whoever holds it, threads of this process included.

    Raises:
        TimeoutError: a living process does not give it back; names the lock and the process.
    """
    lock = folder / f"{TEMPORARY_PREFIX}lock-{name}"
    token = _token()
    _acquire(lock, token)
    try:
        yield
    finally:
        _release(lock, token)


def _acquire(lock: Path, token: str) -> None:
    began = since = time.monotonic()
    seen, wait = "", FIRST_WAIT_SECONDS
    while not _make(lock, token):
        now, holder = time.monotonic(), _holder(lock)
        if holder != seen:
            seen, since = holder, now
        if _is_stale(holder, now - since) and _take_over(lock, holder, token):
            return
        if now - began > LONGEST_HELD_SECONDS:
            raise TimeoutError(f"{lock} is held by {holder or 'nobody known'} for too long: end that process")
        time.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_SECONDS)


def _make(lock: Path, token: str) -> bool:
    """Make the lock; False where it is there, or was taken away as an empty one before it named its holder."""
    try:
        os.mkdir(lock)  # noqa: PTH102  named so that the tests can stop at each of these calls
    except FileExistsError:
        return False
    try:
        os.close(os.open(lock / token, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileNotFoundError:
        return False
    if _tokens(lock) == [token]:
        return True
    os.unlink(lock / token)  # noqa: PTH108  it was taken away and made anew since: it is another's
    return False


def _holder(lock: Path) -> str:
    """The name of the file in the lock, or nothing."""
    return min(_tokens(lock), default="")


def _tokens(lock: Path) -> list[str]:
    """The holders named in the lock; what a network file system keeps there of removed files is none."""
    try:
        return [name for name in os.listdir(lock) if _TOKEN.fullmatch(name)]  # noqa: PTH208
    except FileNotFoundError:
        return []


def _is_stale(holder: str, seconds: float) -> bool:
    if not holder:
        return seconds > EMPTY_SECONDS
    place, pid, started, _ = holder.split("-")
    if place != place_of_processes():
        return seconds > SILENT_SECONDS
    return process_start(int(pid)) != started


def _take_over(lock: Path, holder: str, token: str) -> bool:
    """Put our name in the place of a dead holder's; whether we were the one who did."""
    try:
        if not holder:
            os.rmdir(lock)  # noqa: PTH106  fails where it is held again
            return False
        os.rename(lock / holder, lock / token)  # noqa: PTH104
    except OSError:
        return False
    return True


def _release(lock: Path, token: str) -> None:
    try:
        os.unlink(lock / token)  # noqa: PTH108
        os.rmdir(lock)  # noqa: PTH106
    except OSError:  # we were taken for dead: it is another's now
        return


def _token() -> str:
    pid = os.getpid()
    return f"{place_of_processes()}-{pid}-{process_start(pid)}-{os.urandom(6).hex()}"
