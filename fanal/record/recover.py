"""What a later process does for writers whose process is gone: count what their logs hold, and close them.

A writer that was killed leaves its log. Any later `init` on the record closes it in a process of its own; until then
and meanwhile readers see the log's rows. A run that a living process writes is refused to a second one.
"""

import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RefusedError
from fanal.record import layout
from fanal.record.files import DamagedError, read_document
from fanal.record.layout import LOG, OWNER_FILE, SEGMENTS, WriterPath, numbered
from fanal.record.notice import Notices
from fanal.record.owner import SILENT_SECONDS, is_alive, place_of_processes
from fanal.record.segments.closing import close_writer
from fanal.record.segments.tail import LogTail


@dataclass(frozen=True)
class Saved:
    """What a dead writer's log held."""

    writer: WriterPath
    frames: int
    torn_bytes: int
    damaged_frames: int


def save_dead_writers(record: Path, run: str | None, ours: Collection[WriterPath], notices: Notices) -> list[Saved]:
    """Close every log of a run, or of the record, that nobody writes any more (this process writes `ours`)."""
    writers = layout.all_writers(record) if run is None else layout.writers_of_run(record, run)
    saved = [_count(writer) for writer in writers if _left_a_log(writer, ours)]
    _close([found.writer for found in saved], notices)
    return saved


def close_dead_writers(writers: Iterable[WriterPath], ours: Collection[WriterPath], notices: Notices) -> None:
    """Close the logs of those whose process is gone (this process writes `ours`)."""
    _close([writer for writer in writers if _left_a_log(writer, ours)], notices)


def refuse_living_writer(record: Path, run: str, before: int | None = None) -> None:
    """Raise where another living process has not ended its attempt of `run` (or an attempt before one).

    Raises:
        RefusedError: names the process, its attempt, and since when.
    """
    for attempt in layout.attempts_of(record, run):
        for writer in layout.writers_of(record, run, attempt) if before is None or attempt < before else ():
            if not _has_ended(writer) and (owner := _living(writer, ())) is not None:
                raise RefusedError(
                    f"run {run!r} of {record} is being written by process {owner['pid']} (attempt {attempt}, since "
                    f"{_utc(owner)}): end it, choose another id, or share the run; one on another machine counts as "
                    f"gone after {SILENT_SECONDS:.0f} s of silence"
                )


def _close(writers: list[WriterPath], notices: Notices) -> None:
    for writer in writers:
        if (failed := close_writer(writer.folder)) is not None:
            notices.once(writer.name, f"the log of {writer.name} was kept but not closed: {failed}")


def _has_ended(writer: WriterPath) -> bool:
    """Whether everything was closed; one that has only just begun has neither a log nor a segment."""
    has_log = bool(numbered(writer.folder / LOG, ".log"))
    return not has_log and bool(numbered(writer.folder / SEGMENTS, ".json"))


def _utc(owner: dict[str, Any]) -> str:
    began = owner.get("created_ns", 0) // 1_000_000_000
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(began))


def _left_a_log(writer: WriterPath, ours: Collection[WriterPath]) -> bool:
    return bool(numbered(writer.folder / LOG, ".log")) and _living(writer, ours) is None


def _living(writer: WriterPath, ours: Collection[WriterPath]) -> dict[str, Any] | None:
    """The owner file of a process that may still write."""
    try:
        owner = read_document(writer.folder / OWNER_FILE)
    except (DamagedError, FileNotFoundError):
        return None
    if not is_alive(owner, writer):
        return None
    return None if _is_here(owner) and writer not in ours else owner


def _is_here(owner: dict[str, Any]) -> bool:
    return owner.get("pid") == os.getpid() and owner.get("place") == place_of_processes()


def _count(writer: WriterPath) -> Saved:
    tail = LogTail(writer.folder)
    tail.refresh()
    return Saved(writer, tail.num_frames, tail.torn, tail.num_damaged)
