"""Where everything of a record lies, which names are allowed, and how a record and an attempt begin.

A run's id is a folder's name and so is restricted; metric keys never become names of files. An attempt's number is
taken by making its folder, which only one process can.
"""

import errno
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.record.files import (
    TEMPORARY_PREFIX,
    DamagedError,
    make_folder,
    read_document,
    seal,
    sync_folder,
    write_synced,
    write_whole,
)

FORMAT = 1
RECORD_FILE = "record.json"
MANIFEST_FILE = "manifest.json"
RUNS, BLOBS, LOG, SEGMENTS = "runs", "blobs", "log", "seg"
TAILS = "tails"
"""Slices of open logs, in what is published."""
OWNER_FILE = "owner.json"
RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}")
RUN_ID_RULE = "1 to 80 of A-Z a-z 0-9 . _ -, not beginning with a dot"
NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EOPNOTSUPP})
"""What file systems without hard links say, such as mounted buckets."""
OWNER_WAIT_SECONDS = 2.0
"""Who takes an attempt's number writes an owner file within a few ms."""
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, order=True)
class WriterPath:
    """One writer's place in a record."""

    record: Path
    run: str
    attempt: int
    writer: str

    @property
    def folder(self) -> Path:
        """The writer's folder."""
        return self.record / RUNS / self.run / str(self.attempt) / self.writer

    @property
    def name(self) -> str:
        """The folder's name inside the record."""
        return f"{RUNS}/{self.run}/{self.attempt}/{self.writer}"


def check_run_id(run: str) -> str:
    """`run`, which is a run id.

    Raises:
        ValueError: it is not; says the rule.
    """
    if RUN_ID.fullmatch(run) is None:
        raise ValueError(f"run id {run[:100]!r} cannot be a folder's name: it must be {RUN_ID_RULE}")
    return run


def run_id_from(name: str) -> str:
    """A run id that resembles a name for people."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    return plain or "run"


def open_record(folder: Path, campaign: str | None = None) -> dict[str, Any]:
    """Make `folder` a record where it is none yet; its header.

    Raises:
        RecordError: it cannot be written, holds other things, is damaged or of a newer format.
    """
    path = folder / RECORD_FILE
    if not path.exists():
        _create_record(folder, campaign)
    return read_header(folder)


def _create_record(folder: Path, campaign: str | None) -> None:
    fields = {
        "format": FORMAT,
        "kind": "record",
        "campaign": campaign,
        "public_key": None,
        "created_ns": time.time_ns(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [n for n in sorted(_names(folder)) if n != RECORD_FILE and not n.startswith(TEMPORARY_PREFIX)]
        if (folder / RECORD_FILE).exists():
            return  # another process made it since: what lies beside it came after it
        if others:
            raise RecordError(f"{folder} holds {others[0]!r} and no {RECORD_FILE}: name a new folder for the record")
        temporary = folder / f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
        write_synced(temporary, seal(fields))
        try:
            _name_once(temporary, folder / RECORD_FILE)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(folder)
    except OSError as error:
        raise RecordError(f"{folder} cannot become a record: {error.strerror or error}") from error


def _name_once(temporary: Path, path: Path) -> None:
    """Give a file its name; where another process was quicker, that one's counts."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in NO_LINKS or path.exists():
            raise
        os.replace(temporary, path)  # noqa: PTH105  named so that the tests can stop at each of these calls


def read_header(folder: Path) -> dict[str, Any]:
    """The fields of `record.json`.

    Raises:
        RecordError: `folder` is no record, a damaged one, or one of a newer format.
    """
    try:
        header = read_document(folder / RECORD_FILE)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RecordError(f"{folder} is no record: it holds no {RECORD_FILE}") from error
    except DamagedError as error:
        raise RecordError(f"{error}: restore it from a copy") from error
    if header.get("format") != FORMAT:
        found = header.get("format")
        raise RecordError(f"{folder} is a record of format {found}, this version reads {FORMAT}: install a newer fanal")
    return header


def find_record(path: Path) -> Path:
    """The record's folder: `path` itself, or the `record` folder of a campaign's folder.

    Raises:
        RecordError: neither is a record.
    """
    for folder in (path, path / "record"):
        if (folder / RECORD_FILE).is_file():
            return folder
    raise RecordError(f"{path} is no record: neither it nor its folder `record` holds {RECORD_FILE}")


def begin_attempt(record: Path, run: str) -> int:
    """Take the next attempt number of a run by making its folder."""
    for folder in (record / RUNS, record / RUNS / run):
        if not folder.is_dir():
            _make_unless_there(folder)
    while True:
        number = max(attempts_of(record, run), default=0) + 1
        if _make_unless_there(record / RUNS / run / str(number)):
            return number


def join_attempt(record: Path, run: str) -> tuple[int, bool]:
    """The current attempt of a run that several writers share, and whether the caller begins it.

    An attempt that holds no log and no segment was taken by a process that wrote nothing: the caller begins it too.
    """
    if not attempts_of(record, run):
        for folder in (record / RUNS, record / RUNS / run):
            _make_unless_there(folder)
        if _make_unless_there(record / RUNS / run / "1"):
            return 1, True
    number = max(attempts_of(record, run))
    begun = (w.folder for w in writers_of(record, run, number))
    return number, not any(numbered(w / LOG, ".log") or numbered(w / SEGMENTS, ".json") for w in begun)


def begin_new_run(record: Path, wanted: str) -> str:
    """Make a new run and its first attempt; its id is `wanted`, or that with a free number."""
    _make_unless_there(record / RUNS)
    for number in _free_numbers(record, wanted):
        run = wanted if number == 1 else f"{wanted}-{number}"
        if _make_unless_there(record / RUNS / run):
            make_folder(record / RUNS / run / "1")
            return run
    raise AssertionError("numbers have no end")


def _free_numbers(record: Path, wanted: str) -> Iterator[int]:
    """1, then from the next free number on, found in a few looks where many are taken."""
    yield 1
    step = 1
    while (record / RUNS / f"{wanted}-{1 + step}").exists():
        step *= 2
    low, high = 1 + step // 2, 1 + step
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if (record / RUNS / f"{wanted}-{middle}").exists() else (low, middle)
    yield from count(high)


def any_run_id() -> str:
    """An id for a run that nobody named."""
    return f"run-{os.urandom(4).hex()}"


def await_owner(place: WriterPath) -> None:
    """Wait a moment for the attempts before this one, taken just now, to say who writes them."""
    attempts = [n for n in attempts_of(place.record, place.run) if n < place.attempt]
    until = time.monotonic() + OWNER_WAIT_SECONDS
    for number in attempts[-1:]:
        folder = place.record / RUNS / place.run / str(number)
        recent = time.time() - folder.stat().st_mtime < OWNER_WAIT_SECONDS
        while recent and not writers_of(place.record, place.run, number) and time.monotonic() < until:
            time.sleep(0.01)


def remove_attempt(place: WriterPath) -> None:
    """Give back an attempt that was taken and not begun."""
    (place.folder / OWNER_FILE).unlink()
    for folder in (place.folder / LOG, place.folder / SEGMENTS, place.folder, place.folder.parent):
        folder.rmdir()


def _make_unless_there(folder: Path) -> bool:
    try:
        make_folder(folder)
    except FileExistsError:
        return False
    return True


def runs_of(record: Path) -> list[str]:
    """The ids of the runs that have a folder."""
    return sorted(name for name in _names(record / RUNS) if RUN_ID.fullmatch(name))


def attempts_of(record: Path, run: str) -> list[int]:
    """The numbers of a run's attempts."""
    return sorted(int(name) for name in _names(record / RUNS / run) if _NUMBER.fullmatch(name))


def writers_of(record: Path, run: str, attempt: int) -> list[WriterPath]:
    """The writers of an attempt whose owner file is there."""
    folder = record / RUNS / run / str(attempt)
    names = sorted(name for name in _names(folder) if (folder / name / OWNER_FILE).is_file())
    return [WriterPath(record, run, attempt, name) for name in names]


def writers_of_run(record: Path, run: str) -> Iterator[WriterPath]:
    """Every writer of a run, by attempt and name."""
    for attempt in attempts_of(record, run):
        yield from writers_of(record, run, attempt)


def all_writers(record: Path) -> Iterator[WriterPath]:
    """Every writer of a record, by run, attempt and name."""
    for run in runs_of(record):
        yield from writers_of_run(record, run)


def numbered(folder: Path, suffix: str) -> list[int]:
    """The numbers n of the files `<n><suffix>` of a folder, ascending."""
    stems = [name.removesuffix(suffix) for name in _names(folder) if name.endswith(suffix)]
    return sorted(int(stem) for stem in stems if _NUMBER.fullmatch(stem))


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  a list of names is what is needed
    except (FileNotFoundError, NotADirectoryError):
        return []


def write_owner(place: WriterPath, fields: dict[str, Any]) -> None:
    """Write a writer's owner file, which makes the folder a writer's."""
    kept = {"format": FORMAT, "kind": "owner", "run": place.run, "attempt": place.attempt, "writer": place.writer}
    write_whole(place.folder / OWNER_FILE, seal({**kept, **fields}))
