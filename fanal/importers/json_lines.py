"""JSON lines: an object a row; objects inside it become dotted names, other values are kept as they are.

A line that is no object is named and passed over; the last one, while it has no end and is no whole object, waits.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from fanal.errors import RecordError
from fanal.importers.columns import Columns, flat
from fanal.importers.findings import Findings
from fanal.importers.growing import GrowingRun, Place, unreadable_line
from fanal.importers.items import About, Item
from fanal.importers.lines import Line, LineFile

COMMON_NAMES = frozenset(("metrics", "log", "logs", "history", "progress", "results"))


class JsonLines:
    """Rows of a JSON lines file."""

    rewritten = False

    def rows(self, path: Path, place: Place, findings: Findings) -> Iterator[tuple[bytes, list[Item]]]:
        """The rows after `place`."""
        file = LineFile(path, place.offset, place.number)
        columns = Columns(findings)
        columns.last_step = place.more.get("last_step", -1)
        for line in file.read(take_open_line=True):
            row = _object(line.text)
            if not line.whole and row is None:
                findings.torn_bytes += line.end - place.offset
                return
            items = self._items(line, row, columns, findings)
            place.offset, place.number = line.end, line.number
            place.more = {"last_step": columns.last_step}
            if items is not None:
                yield line.text.encode("utf-8", "surrogatepass"), items

    def _items(self, line: Line, row: dict[str, Any] | None, columns: Columns, findings: Findings) -> list[Item] | None:
        if not line.text.strip():
            return None
        if row is None:
            findings.unreadable.append(unreadable_line(line.number, f"is no JSON object: {line.text[:60]!r}"))
            return None
        try:
            return columns.items(flat(row))
        except (ValueError, RecursionError) as error:
            findings.unreadable.append(unreadable_line(line.number, str(error)))
            return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def find_runs(source: Path, live: bool = False) -> dict[str, GrowingRun]:
    """The runs of a file, or of a folder's `.jsonl` files, by name.

    Raises:
        RecordError: there is no such file, or no line of it is an object.
    """
    paths = files_of(source, ".jsonl")
    if source.is_file() and (first := _first_odd_line(source)) is not None:
        raise RecordError(f"{source} is no JSON lines file: no line is an object; the first is {first[:60]!r}")
    return {path.stem: GrowingRun([(path, JsonLines())], About(run_name(path)), path, live) for path in paths}


def _first_odd_line(path: Path) -> str | None:
    """The first line of a file in which no line is an object; None where one is, or may become one."""
    first: str | None = None
    for line in LineFile(path).read(take_open_line=True):
        text = line.text.strip()
        if _object(text) is not None or (not line.whole and text.startswith("{")):
            return None
        first = first or text
    return first or None


def run_name(path: Path) -> str:
    """What a run is called by its file; by the folder where the file has the name that every such file has."""
    return path.resolve().parent.name if path.stem in COMMON_NAMES else path.stem


def files_of(source: Path, suffix: str) -> list[Path]:
    """The file `source`, or those with the suffix in that folder.

    Raises:
        RecordError: there is neither.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise RecordError(f"{source}: expected a file or a folder with *{suffix} files, found nothing")
    return sorted(source.glob(f"*{suffix}"))
