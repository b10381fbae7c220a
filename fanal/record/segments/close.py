"""The closing process: turns what a writer's log holds into segments, then drops the log files they cover.

Closes while a group has 4,096 rows or the log 64 MiB; everything that is there now, when a day has passed; or, when the
writer has ended, everything, and the log goes. At every instruction the record reads the same: a segment's files are
without effect until its manifest is renamed into place, and a log file goes after the segments that cover it.

`python -m fanal.record.segments.close` reads requests from its standard input, a JSON list [ticket, what, folder] a
line, and answers with [ticket, why it failed or null]; with FOLDER [what] behind it, it closes one writer and ends.
"""

import argparse
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

from fanal.record.files import (
    TEMPORARY_PREFIX,
    DamagedError,
    read_document,
    seal,
    sha256,
    sync_folder,
    write_synced,
    write_whole,
)
from fanal.record.layout import FORMAT, LOG, SEGMENTS, WriterPath, numbered
from fanal.record.lock import held
from fanal.record.log import read_header
from fanal.record.proof import keys
from fanal.record.segments.closing import AGED, ALL, DUE, IDLE_SECONDS
from fanal.record.segments.segment_write import segment_files, taken_facts, taken_rows
from fanal.record.segments.tail import LogTail
from fanal.record.writer import CLOSE_BYTES, CLOSE_ROWS

PARENT_CHECK_SECONDS = 1.0
LOCK_NAME = "closing"
EXPECTED_ERRORS = (OSError, DamagedError, ValueError, LookupError, MemoryError)


def close(place: WriterPath, everything: bool = False, aged: bool = False) -> int:
    """Close what is due of a writer, all that is there now (`aged`), or everything; how many segments were made."""
    with held(place.folder, LOCK_NAME):
        made = _close_due(place, everything, aged)
        _drop_logs(place, everything)
    keys.commit(place.record, [place])  # signed where the key is at hand; `verify` says how far a signature reaches
    return made


def _close_due(place: WriterPath, everything: bool, aged: bool) -> int:
    folder = place.folder / SEGMENTS
    number = max(numbered(folder, ".json"), default=0)
    prev = (folder / f"{number}.json").read_bytes() if number else None
    before = read_document(folder / f"{number}.json") if number else {"last_sequence": 0, "final": False}
    tail, final, made = LogTail(place.folder, before["last_sequence"]), before["final"], 0
    while not final:
        tail.refresh(enough_bytes=CLOSE_BYTES)
        due = _due(tail)
        if not due and aged:
            due, aged = _all_there(tail), False
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
    return made


def _due(tail: LogTail) -> int:
    """The sequence up to which a segment is due: a group's 4,096th row, or 64 MiB of log; 0 where none is."""
    full = [group.sequences[CLOSE_ROWS - 1] for group in tail.groups.values() if len(group.sequences) >= CLOSE_ROWS]
    if tail.sequence_at_bytes(CLOSE_BYTES):
        full.append(tail.sequence_at_bytes(CLOSE_BYTES))
    return min(full, default=0)


def _all_there(tail: LogTail) -> int:
    """The last sequence, where rows or facts stand before it; 0 where none do."""
    held_any = bool(tail.facts) or any(group.sequences for group in tail.groups.values())
    return tail.next_sequence - 1 if held_any else 0


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


def serve(requests: int, answers: int) -> None:
    """Do what is asked, one after the other, until nobody asks any more."""
    parent, unread, idle = os.getppid(), b"", 0.0
    while idle < IDLE_SECONDS and os.getppid() == parent:
        if not select.select([requests], [], [], PARENT_CHECK_SECONDS)[0]:
            idle += PARENT_CHECK_SECONDS
            continue
        asked = os.read(requests, 1 << 16)
        if not asked:
            return
        *lines, unread = (unread + asked).split(b"\n")
        for line in lines:
            ticket, what, folder = json.loads(line)
            answer = json.dumps([ticket, _failure(Path(folder), what)]).encode() + b"\n"
            os.write(answers, answer)
        idle = 0.0


def _failure(folder: Path, what: str) -> str | None:
    """Close a writer; why that failed, or None."""
    place = WriterPath(folder.parents[3], folder.parents[1].name, int(folder.parent.name), folder.name)
    try:
        close(place, everything=what == ALL, aged=what == AGED)
    except EXPECTED_ERRORS as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Close one writer's log, or serve; 0 where nothing failed."""
    parser = argparse.ArgumentParser(prog="python -m fanal.record.segments.close")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("what", nargs="?", choices=(DUE, AGED, ALL), default=DUE)
    asked = parser.parse_args(arguments)
    os.nice(10)
    if asked.folder is None:
        serve(sys.stdin.fileno(), sys.stdout.fileno())
        return 0
    failed = _failure(asked.folder.resolve(), asked.what)
    if failed is not None:
        print(failed, file=sys.stderr)
    return 0 if failed is None else 1


if __name__ == "__main__":
    sys.exit(main())
