"""How a training starts the publisher: a process of its own, which the training neither waits for nor loads.

Loads the standard library alone. What the publisher says goes to a file beside the user's other state, since a
training's terminal is its own; it outlives the training and ends when everything is published.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fanal.errors import RefusedError

MODULE = "fanal.page.publisher"
PACKAGE_PARENT = Path(__file__).resolve().parents[3]
BUCKETS = ("s3://", "gs://", "az://", "memory://")
FORMS = {"s3://": "s3://BUCKET/PREFIX", "gs://": "gs://BUCKET/PREFIX", "az://": "az://CONTAINER/PREFIX"}


def command(record: Path, dest: str) -> list[str]:
    """The command line of a publisher of `record` to `dest`."""
    return [sys.executable, "-P", "-m", MODULE, str(record.absolute()), dest]


def start(record: Path, dest: str) -> Path:
    """Start a publisher; the file that it writes its words to, the public address first.

    Raises:
        ValueError: `dest` is no folder, and no bucket either.
        OSError: it cannot be started.
    """
    check_dest(dest)
    said = state_file(work_of(record, dest)).with_suffix(".log")
    said.parent.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, (str(PACKAGE_PARENT), os.environ.get("PYTHONPATH"))))
    with said.open("ab") as words:
        subprocess.Popen(
            command(record, dest),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C at the terminal is for the training
        )
    return said


def check_dest(dest: object) -> None:
    """Hold that `dest` can be published to, as far as its own words tell.

    Raises:
        ValueError: says what it is, and what it may be.
    """
    may = "give a folder, or s3://, gs:// or az:// with a bucket"
    if not isinstance(dest, str) or not dest.strip() or "\0" in dest:
        raise ValueError(f"publish={dest!r} names no place to publish to: {may}")
    if "://" not in dest:
        if Path(dest).exists() and not Path(dest).is_dir():
            raise ValueError(f"publish={dest!r} is a file: {may}")
        return
    if not dest.startswith(BUCKETS):
        raise ValueError(f"publish={dest!r} is of a kind that cannot be published to: {may}")
    if form := form_without_bucket(dest):
        raise ValueError(f"publish={dest!r} names no bucket: write {form}")


def form_without_bucket(dest: str) -> str | None:
    """The form that an address of a bucket has, where `dest` begins as one and names none."""
    return next((f for scheme, f in FORMS.items() if dest.startswith(scheme) and dest[len(scheme) :][:1] in "/"), None)


def state_file(work: str) -> Path:
    """Where the state of some work is kept: with the user's other state, outside every record."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "fanal" / hashlib.sha256(work.encode()).hexdigest()[:16]


def work_of(record: Path, dest: str) -> str:
    """The work of a publisher, one name for all ways to write the destination."""
    scheme, mark, rest = str(dest).partition("://")
    place = scheme + mark + "/".join(filter(None, rest.split("/"))) if mark else str(Path(str(dest)).resolve())
    return f"publish {record.resolve()} to {place}"


@contextmanager
def alone(work: str) -> Generator[None]:
    """Hold the place of this user's one process for that work, e.g. `publish A to B`; it ends with the process.

    Raises:
        RefusedError: another process has it.
    """
    lock = state_file(work).with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RefusedError(f"another process is there to {work}: let it, or end it first") from error
        yield
    finally:
        os.close(handle)
