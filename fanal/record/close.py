"""The closing process: turns what a writer's log holds into segments, then drops the log files they cover.

`python -m fanal.record.close [--all] WRITER_FOLDER`. Without `--all`, closes while a group has 4,096 rows or the log
64 MiB; with it, everything, and the log goes. At every instruction the record reads the same: a segment's files are
without effect until its manifest is renamed into place, and a log file goes after the segments that cover it.
"""

import argparse
import fcntl
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from fanal.record import manifest
from fanal.record.files import TEMPORARY_PREFIX, read_document, seal, sha256, sync_folder, write_synced, write_whole
from fanal.record.layout import FORMAT, LOG, SEGMENTS, WriterPath, numbered
from fanal.record.log import read_header
from fanal.record.segment_write import segment_files, taken_facts, taken_rows
from fanal.record.tail import LogTail
from fanal.record.writer import CLOSE_BYTES, CLOSE_ROWS


def close(place: WriterPath, everything: bool = False) -> int:
    """Close what is due of a writer, or everything; how many segments were made."""
    handle = os.open(place.folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # one closing a writer at a time; the lock ends with the process
        made = _close_due(place, everything)
        _drop_logs(place, everything)
        manifest.commit(place.record)
        return made
    finally:
        os.close(handle)


def _close_due(place: WriterPath, everything: bool) -> int:
    folder = place.folder / SEGMENTS
    number = max(numbered(folder, ".json"), default=0)
    prev = (folder / f"{number}.json").read_bytes() if number else None
    before = read_document(folder / f"{number}.json") if number else {"last_sequence": 0, "final": False}
    tail, final, made = LogTail(place.folder, before["last_sequence"]), before["final"], 0
    while not final:
        tail.refresh(enough_bytes=CLOSE_BYTES)
        due = _due(tail)
        if not (due or everything):
            break
        number, made, final = number + 1, made + 1, not due
        _clear(folder, number)
        last = due or max(tail.next_sequence - 1, tail.covered)
        fields = _write_files(place, number, tail, last)
        chained = {"prev": sha256(prev) if prev else None, "final": final}
        prev = seal(fields | chained)
        write_whole(folder / f"{number}.json", prev)
        _drop_logs(place, False)
        tail.forget(last)
        pa.default_memory_pool().release_unused()
    return made


def _due(tail: LogTail) -> int:
    """The sequence up to which a segment is due: a group's 4,096th row, or 64 MiB of log; 0 where none is."""
    full = [group.sequences[CLOSE_ROWS - 1] for group in tail.groups.values() if len(group.sequences) >= CLOSE_ROWS]
    if tail.sequence_at_bytes(CLOSE_BYTES):
        full.append(tail.sequence_at_bytes(CLOSE_BYTES))
    return min(full, default=0)


def _write_files(place: WriterPath, number: int, tail: LogTail, last: int) -> dict[str, Any]:
    """Put the files on disk; the manifest's fields."""
    folder = place.folder / SEGMENTS
    rows, facts = taken_rows(tail, last), taken_facts(tail, last)
    abouts: list[Any] = []
    for file in segment_files(number, rows, facts):
        write_synced(folder / file.about["name"], file.data)
        abouts.append(file.about)
    sync_folder(folder)
    return {
        "format": FORMAT,
        "kind": "segment",
        "run": place.run,
        "attempt": place.attempt,
        "writer": place.writer,
        "number": number,
        "first_sequence": tail.covered + 1,
        "last_sequence": last,
        "missing": [[first, min(end, last)] for first, end in tail.missing if first <= last],
        "groups": [group.about() for group in rows],
        "files": abouts,
        "counts": {
            "rows": sum(group.num_rows for group in rows),
            "values": sum(group.num_rows * len(group.keys) for group in rows),
            "facts": len(facts),
        },
    }


def _clear(folder: Path, number: int) -> None:
    """Remove what a closing that was killed left behind."""
    for name in os.listdir(folder):  # noqa: PTH208  a list, since it changes under the loop
        if name.startswith((f"{number}.", TEMPORARY_PREFIX)):
            (folder / name).unlink()


def _drop_logs(place: WriterPath, all_covered: bool) -> None:
    """Remove log files whose frames all stand in segments; the last file only when nobody writes it any more.

    A writer killed while it began a file left one without a header, which says nothing of the file before it: where
    everything is covered, no header is asked.
    """
    folder = place.folder / LOG
    last = max(numbered(place.folder / SEGMENTS, ".json"), default=0)
    covered = read_document(place.folder / SEGMENTS / f"{last}.json")["last_sequence"] if last else 0
    numbers = numbered(folder, ".log")
    for index, number in enumerate(numbers):
        following = numbers[index + 1] if index + 1 < len(numbers) else None
        if not (all_covered or (following and _begins_within(folder / f"{following}.log", covered))):
            break
        (folder / f"{number}.log").unlink()
    if numbers:
        sync_folder(folder)


def _begins_within(path: Path, covered: int) -> bool:
    """Whether all frames before this log file have numbers up to `covered`."""
    with path.open("rb") as file:
        header = read_header(file.read(256))
    return header is not None and header.first_sequence - 1 <= covered


def main(arguments: list[str] | None = None) -> int:
    """Close a writer's log; 0."""
    parser = argparse.ArgumentParser(prog="python -m fanal.record.close")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="the writer has ended: close everything")
    asked = parser.parse_args(arguments)
    os.nice(10)
    writer = asked.folder.resolve()
    record = writer.parents[3]
    close(WriterPath(record, writer.parents[1].name, int(writer.parent.name), writer.name), asked.all)
    return 0


if __name__ == "__main__":
    sys.exit(main())
