"""A record as DuckDB views: `runs`, `attempts`, `points`, and the macro `series(key, run)`, exact as the reader is.

The text names the Parquet files of closed segments; what only a log holds is in it after closing. Lineage and what
metrics declare are written into it as they are now: write it again when the record has grown. It is text for DuckDB 1.2
or later and names files by path or address; nothing is run here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.record.files import read_document
from fanal.record.layout import SEGMENTS, numbered
from fanal.record.reading.lineage import FIRST_OF_ALL, LAST_OF_ALL
from fanal.record.reading.read import RunView, open_record
from fanal.record.reading.writer_view import WriterView

_HEAD = """-- A record as DuckDB views, from the closed segments of
-- {base}
-- `series(key, run)` is the default view, `series_by_attempt(key, run)` all that was logged. NaN is the largest number
-- to DuckDB and equals itself; above (>), below (<), at_most (<=) and differs (!=) compare as IEEE 754 and numpy do.
CREATE OR REPLACE MACRO above(a, b) AS (a > b AND NOT isnan(a) AND NOT isnan(b));
CREATE OR REPLACE MACRO below(a, b) AS (a < b AND NOT isnan(a) AND NOT isnan(b));
CREATE OR REPLACE MACRO at_most(a, b) AS (a <= b AND NOT isnan(a) AND NOT isnan(b));
CREATE OR REPLACE MACRO differs(a, b) AS (a <> b OR isnan(a) OR isnan(b));
"""
_TABLES: dict[str, str] = {
    "runs": "run VARCHAR, role VARCHAR, name VARCHAR, start_ns BIGINT",
    "attempts": (
        "run VARCHAR, attempt INTEGER, of_run VARCHAR, of_attempt INTEGER, cause VARCHAR, from_step BIGINT, "
        "from_attempt INTEGER, from_run VARCHAR, start_ns BIGINT, end_ns BIGINT, outcome VARCHAR, reason VARCHAR"
    ),
    "shown": "run VARCHAR, attempt INTEGER, first_step BIGINT, end_step BIGINT",
    "metrics": "run VARCHAR, key VARCHAR, axis VARCHAR, reduce VARCHAR",
}
_FILES = """
CREATE OR REPLACE VIEW {name}_files AS
SELECT string_split(filename, '/')[-5] AS run, string_split(filename, '/')[-4]::INTEGER AS attempt,
       string_split(filename, '/')[-3] AS writer,
       split_part(string_split(filename, '/')[-1], '.', 1)::INTEGER AS segment, {columns}
FROM read_parquet([{files}], filename = true);
"""
_NO_FILES = """
CREATE OR REPLACE VIEW {name}_files AS
SELECT '' AS run, 0 AS attempt, '' AS writer, 0 AS segment, {columns} WHERE false;
"""
_COLUMNS = {
    "values": {"key": "''", "row": "0::INTEGER", "step": "0::BIGINT", "value": "0::DOUBLE"},
    "rows": {"row": "0::INTEGER", "time_ns": "0::BIGINT", "sequence": "0::BIGINT"},
}
_POINTS = """
CREATE OR REPLACE VIEW points AS
SELECT run, attempt, writer, key, step, value,
    CASE WHEN time_ns <> 0 AND abs(time_ns // 1000) < 9223372036854775 THEN make_timestamp_ns(time_ns) END AS time,
    sequence
FROM values_files JOIN rows_files USING (run, attempt, writer, segment, "row");

CREATE OR REPLACE MACRO series_by_attempt(k, r) AS TABLE
WITH declared AS (SELECT coalesce(max(axis), 'step') AS axis FROM metrics WHERE run = r AND key = k)
SELECT a.attempt, p.run AS of_run, p.attempt AS of_attempt, p.writer, p.step, p.value, p.time, p.sequence
FROM points p JOIN attempts a ON p.run = a.of_run AND p.attempt = a.of_attempt CROSS JOIN declared d
WHERE a.run = r AND p.key = k
QUALIFY d.axis = 'time' OR row_number() OVER (PARTITION BY a.attempt, p.writer, p.step ORDER BY p.sequence DESC) = 1
ORDER BY a.attempt, CASE WHEN d.axis = 'time' THEN p.time END, CASE WHEN d.axis = 'time' THEN p.sequence END,
         CASE WHEN d.axis = 'time' THEN 0 ELSE p.step END, p.writer;

CREATE OR REPLACE MACRO series(k, r) AS TABLE
WITH declared AS (
  SELECT coalesce(max(axis), 'step') AS axis, max(reduce) AS reduce FROM metrics WHERE run = r AND key = k
), kept AS (
  SELECT b.*, d.axis, CASE WHEN d.axis = 'time' THEN NULL ELSE d.reduce END AS reduce
  FROM series_by_attempt(k, r) b CROSS JOIN declared d
  WHERE d.axis = 'time' OR EXISTS (
    SELECT 1 FROM shown s WHERE s.run = r AND s.attempt = b.attempt
    AND (s.first_step IS NULL OR b.step >= s.first_step) AND (s.end_step IS NULL OR b.step < s.end_step))
), joined AS (
  SELECT attempt, any_value(of_run) AS of_run, any_value(of_attempt) AS of_attempt,
         CASE WHEN count(*) = 1 THEN any_value(writer) END AS writer, step,
         CASE any_value(reduce) WHEN 'mean'
           THEN list_reduce(list(value ORDER BY writer), lambda x, y: x + y) / count(*) ELSE max(value) END AS value,
         max(time) AS time, arg_min(sequence, writer) AS sequence
  FROM kept WHERE reduce IS NOT NULL GROUP BY attempt, step
), all_of_it AS (
  SELECT *, 'step' AS axis FROM joined
  UNION ALL BY NAME SELECT * EXCLUDE (reduce) FROM kept WHERE reduce IS NULL
)
SELECT * EXCLUDE (axis) FROM all_of_it
ORDER BY CASE WHEN axis = 'time' THEN attempt END, CASE WHEN axis = 'time' THEN time END,
         CASE WHEN axis = 'time' THEN sequence END, CASE WHEN axis = 'time' THEN 0 ELSE step END, writer;
"""


@dataclass(frozen=True)
class ViewsReport:
    """The views, and what is not in them."""

    text: str
    """SQL."""
    num_files: int
    open_writers: tuple[str, ...]
    """Writers whose log holds rows that no segment holds yet: these the views do not show."""
    exit_code: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {"sql": self.text, "files": self.num_files, "open_writers": self.open_writers}


def views_sql(record: Path | str, base: str | None = None) -> ViewsReport:
    """The SQL that shows a record to DuckDB; `base` is the path or address under which DuckDB finds the files.

    Raises:
        RecordError: there is no such record.
    """
    opened = open_record(record)
    base = (base or opened.address or opened.path.resolve().as_posix()).rstrip("/")
    views = [view for view in (*opened.runs.values(), opened.campaign, opened.journal) if view is not None]
    writers = [writer for view in views for writer in view.writers()]
    files = {role: [f"{base}/{name}" for name in _files(writers, role)] for role in _COLUMNS}
    waiting = tuple(w.place.name for w in writers if any(group.sequences for group in w.tail.groups.values()))
    parts = [_HEAD.format(base=base.replace("\n", " "))]
    parts += [f"-- Not in it: rows that only the log of {name} holds yet.\n" for name in waiting]
    parts += [_table(name, rows) for name, rows in _rows(views).items()]
    parts += [_reading(role, names) for role, names in files.items()]
    return ViewsReport("".join([*parts, _POINTS]), sum(map(len, files.values())), waiting)


def _files(writers: Iterable[WriterView], role: str) -> list[str]:
    """The segments' files of a role, by name inside the record."""
    found: list[str] = []
    for writer in writers:
        folder = writer.place.folder / SEGMENTS
        for number in numbered(folder, ".json"):
            files = read_document(folder / f"{number}.json")["files"]
            found += [f"{writer.place.name}/{SEGMENTS}/{file['name']}" for file in files if file["role"] == role]
    return found


def _rows(views: Iterable[RunView]) -> dict[str, list[tuple[Any, ...]]]:
    """The small tables: what events say, worked out by the reader."""
    tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _TABLES}
    for view in views:
        tables["runs"].append((view.id, view.role, view.name, view.created_ns))
        for a in view.attempts:
            origin = (view.id, a.number, a.run, a.of_run, a.cause, a.from_step, a.from_attempt, a.from_run)
            tables["attempts"].append((*origin, a.start_ns, a.end_ns, a.outcome, a.reason))
        for part in view.lineage():
            first = None if part.first_step == FIRST_OF_ALL else part.first_step
            end = None if part.end_step == LAST_OF_ALL else part.end_step
            tables["shown"].append((view.id, part.attempt, first, end))
        for metric in map(view.metric, view.keys()):
            if metric.axis == "time" or metric.reduce:
                tables["metrics"].append((view.id, metric.key, metric.axis, metric.reduce))
    return tables


def _table(name: str, rows: list[tuple[Any, ...]]) -> str:
    values = ",\n  ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    filled = f"INSERT INTO {name} VALUES\n  {values};\n" if rows else ""
    return f"\nCREATE OR REPLACE TABLE {name} ({_TABLES[name]});\n{filled}"


def _reading(role: str, files: list[str]) -> str:
    columns = _COLUMNS[role]
    if not files:
        return _NO_FILES.format(name=role, columns=", ".join(f'{value} AS "{name}"' for name, value in columns.items()))
    listed = ",\n  ".join(map(_literal, files))
    return _FILES.format(name=role, columns=", ".join(f'"{name}"' for name in columns), files=f"\n  {listed}")


def _literal(value: str | int | None) -> str:
    """A value as SQL; what UTF-8 cannot say is escaped as the files' key columns escape it."""
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    plain = value.encode("utf-8", "backslashreplace").decode("utf-8").replace("'", "''")
    return "'" + plain.replace("\0", "' || chr(0) || '") + "'"
