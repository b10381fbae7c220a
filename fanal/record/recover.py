"""What a later process does for writers whose process is gone: count what their logs hold, and close them.

A writer that was killed leaves its log. Any later `init` on the record closes it in a process of its own; until then
and meanwhile readers see the log's rows. A run that a living process writes is refused to a second one.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from fanal.errors import RefusedError
from fanal.record import layout
from fanal.record.closing import close_writer
from fanal.record.files import DamagedError, read_document
from fanal.record.layout import LOG, OWNER_FILE, WriterPath, numbered
from fanal.record.notice import Notices
from fanal.record.owner import SILENT_SECONDS, is_alive
from fanal.record.tail import LogTail


@dataclass(frozen=True)
class Saved:
    """What a dead writer's log held."""

    writer: WriterPath
    frames: int
    torn_bytes: int
    damaged_frames: int


def save_dead_writers(record: Path, ours: Collection[WriterPath], notices: Notices) -> list[Saved]:
    """Close every log in the record that nobody writes any more (this process writes `ours`); what each held."""
    saved = [_count(writer) for writer in layout.all_writers(record) if _left_a_log(writer, ours)]
    for found in saved:
        if (failed := close_writer(found.writer.folder)) is not None:
            notices.once(found.writer.name, f"the log of {found.writer.name} was kept but not closed: {failed}")
    return saved


def refuse_living_writer(record: Path, run: str) -> None:
    """Raise where another living process has not ended its attempt of `run`.

    Raises:
        RefusedError: names the process.
    """
    for attempt in layout.attempts_of(record, run):
        for writer in layout.writers_of(record, run, attempt):
            if numbered(writer.folder / LOG, ".log") and (pid := _living(writer, ())) is not None:
                raise RefusedError(
                    f"run {run!r} of {record} is being written by process {pid} (attempt {attempt}): end it or choose "
                    f"another id; one on another machine counts as gone after {SILENT_SECONDS:.0f} s of silence"
                )


def _left_a_log(writer: WriterPath, ours: Collection[WriterPath]) -> bool:
    return bool(numbered(writer.folder / LOG, ".log")) and _living(writer, ours) is None


def _living(writer: WriterPath, ours: Collection[WriterPath]) -> int | None:
    """The process that may still write."""
    try:
        owner = read_document(writer.folder / OWNER_FILE)
    except (DamagedError, FileNotFoundError):
        return None
    if not is_alive(owner, writer):
        return None
    pid: int = owner["pid"]
    return None if pid == os.getpid() and writer not in ours else pid


def _count(writer: WriterPath) -> Saved:
    tail = LogTail(writer.folder)
    tail.refresh()
    return Saved(writer, tail.num_frames, tail.torn, tail.num_damaged)
