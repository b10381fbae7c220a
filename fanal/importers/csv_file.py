"""CSV: wide tables (a column a metric), long ones (name and value), and what wandb, TensorBoard and Lightning export.

Separator, byte-order mark and encoding are told from the file; an empty cell is no value. wandb's chart export names
columns `<run> - <metric>` and is divided by run; its `__MIN` and `__MAX` columns are kept as keys. A row with more or
fewer cells than the header is named by its line.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.importers.columns import Columns
from fanal.importers.findings import Findings
from fanal.importers.growing import GrowingRun, Place, RowFile, unreadable_line
from fanal.importers.items import About, Item
from fanal.importers.json_lines import files_of, run_name
from fanal.importers.lines import HEAD_BYTES, Line, LineFile

SEPARATORS = ",;\t|"
MISSING = frozenset(("", "NA", "N/A", "null", "None"))
RUN_NAMES, METRIC_NAMES = ("run", "run_id", "run_name"), ("metric", "key", "tag", "variable", "name")
MAX_CELL_LINES = 200
"""A quoted cell of more lines is a stray quote."""
BETWEEN = " - "
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
TENSORBOARD = ["wall time", "step", "value"]
_TENSORBOARD_NAME = re.compile(r"run-(?P<run>.+?)-tag-(?P<tag>.+)")
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a header is read."""

    names: tuple[str, ...]
    separator: str
    run: str | None = None
    """The column that names the run."""
    metric: str | None = None
    """In a long table, the column that names the metric; `value` holds its value."""
    exported: bool = False
    """wandb's chart export: the first column is the step, the others name run and metric."""

    @classmethod
    def of(cls, header: str) -> "Layout":
        """The layout that a header line says.

        Raises:
            RecordError: it names no column or one twice.
        """
        separator = max(SEPARATORS, key=header.count)
        names = tuple(_cells(header, separator))
        if not any(name.strip() for name in names) or len(set(names)) != len(names):
            raise RecordError(f"the header {header[:80]!r} must name every column once")
        lower = {name.strip().lower(): name for name in names}
        metric = next((lower[name] for name in METRIC_NAMES if name in lower and "value" in lower), None)
        run = next((lower[name] for name in RUN_NAMES if name in lower), None)
        exported = len(names) > 1 and all(BETWEEN in name for name in names[1:])
        return cls(names, separator, run, metric, exported)


class CsvRows:
    """Rows of a CSV file that belong to one run."""

    rewritten = False

    def __init__(self, run: str | None = None, key: str | None = None, live: bool = False) -> None:
        self._run = run
        self._key = key
        self._live = live

    def rows(self, path: Path, place: Place, findings: Findings) -> Iterator[tuple[bytes, list[Item]]]:
        """The rows after `place`."""
        file = LineFile(path, place.offset, place.number)
        layout = Layout.of(place.more["header"]) if "header" in place.more else None
        columns: Columns | None = None
        for line in _records(file, take_open_line=not self._live):
            if layout is None:
                layout = Layout.of(line.text)
                place.more = {"header": line.text}
            elif line.text.strip():
                if columns is None:
                    columns = Columns(findings, layout.names[0] if layout.exported else None)
                    columns.last_step = place.more.get("last_step", -1)
                found = self._row(line, layout, columns, findings)
                if found is None and not line.whole:
                    findings.torn_bytes += line.end - place.offset
                    return
                place.more["last_step"] = columns.last_step
                place.offset, place.number = line.end, line.number
                if found is not None:
                    yield found
                continue
            place.offset, place.number = line.end, line.number
        findings.torn_bytes += file.torn_bytes
        if file.replaced:
            findings.notes.append(f"{file.replaced} lines are no UTF-8: read as Windows-1252")

    def _row(self, line: Line, layout: Layout, columns: Columns, findings: Findings) -> tuple[bytes, list[Item]] | None:
        cells = _cells(line.text, layout.separator)
        if len(cells) != len(layout.names):
            if line.whole:
                what = f"has {len(cells)} cells, the header {len(layout.names)}"
                findings.unreadable.append(unreadable_line(line.number, what))
            return None
        comma = layout.separator != ","
        named = {n: _value(c, comma) for n, c in zip(layout.names, cells, strict=True) if c.strip() not in MISSING}
        content = repr(sorted(named.items())).encode("utf-8", "surrogatepass")
        if layout.run is not None and self._run is not None and str(named.pop(layout.run, "")) != self._run:
            return content, []
        try:
            return content, columns.items(self._renamed(named, layout))
        except ValueError as error:
            findings.unreadable.append(unreadable_line(line.number, str(error)))
            return content, []

    def _renamed(self, named: dict[str, Any], layout: Layout) -> dict[str, Any]:
        if layout.exported:
            step = layout.names[0]
            ours = {n.rpartition(BETWEEN)[2]: v for n, v in named.items() if n.rpartition(BETWEEN)[0] == self._run}
            return {step: named[step], **ours} if step in named else ours
        if layout.metric is not None:
            value = next(name for name in layout.names if name.strip().lower() == "value")
            key = str(named.pop(layout.metric, ""))
            return {**{n: v for n, v in named.items() if n != value}, key: named[value]} if value in named else {}
        if self._key is not None:
            return {self._key if name.strip().lower() == "value" else name: v for name, v in named.items()}
        return named


def _records(file: LineFile, take_open_line: bool) -> Iterator[Line]:
    """Lines, those that a quoted cell divides put together again; a quote that nothing closes divides nothing."""
    held: list[Line] = []
    for line in file.read(take_open_line):
        held.append(line)
        while held and (_is_whole(held) or len(held) > MAX_CELL_LINES):
            whole = _is_whole(held)
            yield _joined(held) if whole else held[0]
            held = [] if whole else held[1:]
    while take_open_line and held:
        whole = _is_whole(held)
        yield _joined(held) if whole else held[0]
        held = [] if whole else held[1:]


def _is_whole(held: list[Line]) -> bool:
    return sum(line.text.count('"') for line in held) % 2 == 0


def _joined(held: list[Line]) -> Line:
    last = held[-1]
    return Line(last.number, "\n".join(line.text for line in held), last.end, last.whole)


def _cells(text: str, separator: str) -> list[str]:
    """The cells of a line; none where it cannot be divided, e.g. at a line end of old Macintoshes."""
    try:
        return next(iter(csv.reader([text], delimiter=separator)), list[str]())
    except csv.Error:
        return []


def _value(cell: str, decimal_comma: bool) -> Any:
    text = cell.strip()
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 4000 else text
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    try:
        return float(text) if "_" not in text else cell
    except ValueError:
        return cell


def find_runs(source: Path, live: bool = False) -> dict[str, GrowingRun]:
    """The runs of a CSV file, or of a folder's, by name.

    Raises:
        RecordError: there is no such file, a header that cannot be read, or no row anywhere.
    """
    found: dict[str, GrowingRun] = {}
    tagged: dict[str, list[tuple[Path, RowFile]]] = {}
    without_rows: list[Path] = []
    for path in files_of(source, ".csv"):
        header, has_row = _beginning(path, live)
        if not header.strip():
            continue
        layout = Layout.of(header)
        if not has_row and not live:
            without_rows.append(path)
            continue
        if [name.strip().lower() for name in layout.names] == TENSORBOARD:
            named = _TENSORBOARD_NAME.fullmatch(path.stem)
            run, tag = (named["run"], named["tag"]) if named else (path.stem, path.stem)
            tagged.setdefault(run, []).append((path, CsvRows(key=tag, live=live)))
            continue
        for run in _runs_of(path, layout):
            found[f"{path.stem}/{run}"] = GrowingRun(
                [(path, CsvRows(run, live=live))], About(run or run_name(path)), path, live
            )
    if without_rows and not found and not tagged:
        raise RecordError(f"{', '.join(map(str, without_rows[:5]))}: a header and no row, so there is no run")
    return found | {
        run: GrowingRun(files, About(run), files[0][0].with_name(run), live) for run, files in tagged.items()
    }


def _beginning(path: Path, live: bool) -> tuple[str, bool]:
    """The header of a table, empty where it has none yet, and whether a row follows it.

    Raises:
        RecordError: this is no text.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head.startswith(UTF16_MARKS) and b"\0" in head.rstrip(b"\0"):
        raise RecordError(f"{path} is no text table: it holds bytes that no text has")
    lines = LineFile(path).read(take_open_line=not live)
    header = next((line.text for line in lines), "")
    return header, any(line.text.strip() for line in lines)


def _runs_of(path: Path, layout: Layout) -> list[str | None]:
    if layout.exported:
        return list(dict.fromkeys(name.rpartition(BETWEEN)[0] for name in layout.names[1:]))
    if layout.run is None:
        return [None]
    at = layout.names.index(layout.run)
    rows = (_cells(line.text, layout.separator) for line in _records(LineFile(path), True))
    names = dict.fromkeys(cells[at] for cells in rows if len(cells) == len(layout.names))
    names.pop(layout.run, None)
    return [str(_value(name, False)) for name in names]
