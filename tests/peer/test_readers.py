"""A record's Parquet files in other people's engines: DuckDB, pandas, polars and pyarrow hold what was logged.

Engines prune by column statistics, which know no NaN; a value file therefore has none on `value`. Where an engine puts
NaN above all numbers (DuckDB, polars), the comparison that equals numpy's is the one of docs/format.md.
"""

import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.reading.read import RunView
from fanal.record.reading.stitch import stitch
from fanal.record.reading.views import views_sql

pytestmark = pytest.mark.peer

VALUES = (1.0, math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1, 2.0**53, -1e308, 0.0)
PREDICATES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "isnan": np.isnan,
    "above": lambda v: v > 0.5,
    "differs": lambda v: v != 0.1,
    "at_most": lambda v: v <= 0.0,
}
"""What engines get wrong, as numpy says it."""
PER_FILE = 5000


def logged() -> np.ndarray:
    """The odd values after thousands of plain ones, so that they lie in files and row groups among others."""
    return np.concatenate([np.arange(PER_FILE) / 7, VALUES, np.arange(PER_FILE) / 3, VALUES])


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with every odd value, a rewind, several writers, samples in time, a fork and a stitch; all closed."""
    folder = tmp_path_factory.mktemp("record") / "r"
    run = start(folder, Start(id="odd"))
    for step, value in enumerate(logged().tolist()):
        run.log({"a/odd": value, "b/plain": float(step)}, step)
    run.finish()
    for attempt in range(3):
        first = start(folder, Start(id="many", from_step=attempt * 30))
        second = start(folder, Start(id="many", shared=True))
        first.event("metric", pattern="mean/*", reduce="mean")
        first.event("metric", pattern="max", reduce="max")
        first.event("metric", pattern="system/*", axis="time")
        for step in [*range(attempt * 30, attempt * 30 + 50), attempt * 30 + 20]:
            for number, writer in enumerate((first, second)):
                keys = {"apart": step + number / 3, "mean/x": step / 7 + number, "max": math.nan if step % 9 else 1.0}
                writer.log({**keys, "it's": 0.1 * attempt}, step)
            first.log({"system/gpu": step / 11}, step // 10)
        second.finish()
        first.finish()
    fork = start(folder, Start(id="fork", from_run="many", from_step=70))
    for step in range(70, 90):
        fork.log({"apart": -float(step), "mean/x": 1.0}, step)
    fork.finish()
    stitch(folder, ["many", "odd", "fork"], "all")
    return folder


@pytest.fixture(scope="module")
def sql(record: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with the record's views."""
    connection = duckdb.connect()
    views = views_sql(record)
    assert views.open_writers == ()
    connection.execute(views.text)
    return connection


def value_files(record: Path) -> list[str]:
    return [str(path) for path in sorted((record / "runs" / "odd").rglob("*.values*.parquet"))]


def test_the_macro_series_is_the_stitched_series_bit_by_bit(record: Path, sql: duckdb.DuckDBPyConnection) -> None:
    num_series = 0
    for run, view in fanal.open(record).runs.items():
        for key in view.keys():  # noqa: SIM118
            series = view.series(key)
            found = sql.execute(
                "select step, value, epoch_ns(time), attempt from series(?, ?)", [key, run]
            ).fetchnumpy()
            names = list(found)
            assert found[names[0]].tolist() == series.steps.tolist(), (run, key)
            assert found[names[1]].tobytes() == series.values.tobytes(), (run, key)
            assert found[names[2]].tolist() == series.times_ns.tolist(), (run, key)
            assert found[names[3]].tolist() == series.attempts.tolist(), (run, key)
            num_series += 1
    assert num_series > 10


def by_attempt(view: RunView, key: str) -> list[tuple[int, int, float]]:
    """Attempt, step and value of all that each attempt logged, writer by writer."""
    points: list[tuple[int, int, float]] = []
    for attempt in view.attempts:
        mine = [view.series(key, attempt.number, name) for name in view.origin(attempt.number).writers]
        points += [(attempt.number, *p) for s in mine for p in zip(s.steps.tolist(), s.values.tolist(), strict=True)]
    return sorted(points, key=lambda point: (point[0], point[1], repr(point[2])))


def test_the_macro_by_attempt_shows_what_was_superseded_too(record: Path, sql: duckdb.DuckDBPyConnection) -> None:
    for run, key in (("many", "apart"), ("many", "mean/x"), ("fork", "apart"), ("all", "apart"), ("many", "it's")):
        query = "select attempt, step, value from series_by_attempt(?, ?)"
        found = sql.execute(query, [key, run]).fetchall()
        assert sorted(found, key=lambda p: (p[0], p[1], repr(p[2]))) == by_attempt(fanal.open(record).runs[run], key)


def test_runs_and_attempts_are_views(sql: duckdb.DuckDBPyConnection) -> None:
    assert sql.execute("select run from runs order by start_ns").fetchall() == [
        ("odd",),
        ("many",),
        ("fork",),
        ("all",),
    ]
    query = "select of_run, of_attempt, cause, from_step from attempts where run = 'fork' order by attempt"
    wanted = [("many", 1, "start", 0), ("many", 2, "resume", 30), ("many", 3, "resume", 60), ("fork", 1, "fork", 70)]
    assert sql.execute(query).fetchall() == wanted


def test_points_are_every_point_with_its_time(record: Path, sql: duckdb.DuckDBPyConnection) -> None:
    query = "select step, value, epoch_ns(time) from points where run = 'odd' and key = 'a/odd' order by step"
    steps, values, times = sql.execute(query).fetchnumpy().values()
    series = fanal.open(record).runs["odd"].series("a/odd")
    assert (steps.tolist(), times.tolist()) == (series.steps.tolist(), series.times_ns.tolist())
    assert values.tobytes() == logged().tobytes()


@pytest.mark.parametrize("predicate", PREDICATES)
def test_duckdb_finds_what_numpy_finds(sql: duckdb.DuckDBPyConnection, predicate: str) -> None:
    condition = {
        "isnan": "isnan(value)",
        "above": "above(value, 0.5)",
        "differs": "differs(value, 0.1)",
        "at_most": "at_most(value, 0)",
    }[predicate]
    found = sql.execute(f"select step from series('a/odd', 'odd') where {condition}").fetchnumpy()["step"]
    assert found.tolist() == np.flatnonzero(PREDICATES[predicate](logged())).tolist()


def test_duckdb_prunes_no_nan_by_statistics(record: Path) -> None:
    query = (
        "select count(*) filter (isnan(value)), max(value) from read_parquet(?) where key = 'a/odd' and isnan(value)"
    )
    num_nan, most = duckdb.execute(query, [value_files(record)]).fetchall()[0]
    assert num_nan == 2
    assert math.isnan(most)


def test_the_maximum_is_numpys_in_each(record: Path, sql: duckdb.DuckDBPyConnection) -> None:
    frame = pd.concat([pd.read_parquet(path) for path in value_files(record)])
    values = frame[frame["key"] == "a/odd"]["value"]
    polars = pl.read_parquet(value_files(record)).filter(pl.col("key") == "a/odd")["value"]
    arrow = ds.dataset(value_files(record)).to_table(filter=ds.field("key") == "a/odd")["value"]
    assert math.isnan(np.max(logged()))
    assert np.nanmax(logged()) == math.inf
    found = sql.execute(
        "select max(value), max(value) filter (not isnan(value)) from series('a/odd', 'odd')"
    ).fetchone()
    assert found is not None
    assert math.isnan(found[0])
    assert found[1] == math.inf
    assert math.isnan(values.max(skipna=False))
    assert values.max() == math.inf
    assert polars.nan_max() is not None
    assert math.isnan(polars.nan_max())  # pyright: ignore[reportArgumentType]
    assert polars.max() == math.inf
    assert pc.max(arrow).as_py() == math.inf
    assert pc.any(pc.is_nan(arrow)).as_py()


def frame_steps(record: Path, predicate: str) -> list[int]:
    frame = pd.concat([pd.read_parquet(path) for path in value_files(record)])
    frame = frame[frame["key"] == "a/odd"].sort_values("step")
    value = frame["value"]
    masks = {"isnan": value.isna(), "above": value > 0.5, "differs": value != 0.1, "at_most": value <= 0.0}
    return frame[masks[predicate]]["step"].tolist()


def polars_steps(record: Path, predicate: str) -> list[int]:
    value = pl.col("value")
    masks = {
        "isnan": value.is_nan(),
        "above": (value > 0.5) & value.is_not_nan(),
        "differs": (value != 0.1) | value.is_nan(),
        "at_most": (value <= 0.0) & value.is_not_nan(),
    }
    frame = pl.scan_parquet(value_files(record)).filter((pl.col("key") == "a/odd") & masks[predicate])
    return frame.sort("step").collect()["step"].to_list()


def arrow_steps(record: Path, predicate: str) -> list[int]:
    value = ds.field("value")
    masks = {"isnan": value.is_nan(), "above": value > 0.5, "differs": value != 0.1, "at_most": value <= 0.0}
    table = ds.dataset(value_files(record)).to_table(filter=(ds.field("key") == "a/odd") & masks[predicate])
    return sorted(table["step"].to_pylist())


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("read", [frame_steps, polars_steps, arrow_steps], ids=["pandas", "polars", "pyarrow"])
def test_frames_find_what_numpy_finds(record: Path, read: Callable[[Path, str], list[int]], predicate: str) -> None:
    assert read(record, predicate) == np.flatnonzero(PREDICATES[predicate](logged())).tolist()


@pytest.mark.parametrize("read", [pd.read_parquet, lambda p: pl.read_parquet(p).to_pandas()], ids=["pandas", "polars"])
def test_frames_hold_the_same_bits(record: Path, read: Callable[[str], pd.DataFrame]) -> None:
    frame = pd.concat([read(path) for path in value_files(record)])
    values = frame[frame["key"] == "a/odd"].sort_values("step")["value"].to_numpy()
    assert values.tobytes() == logged().tobytes()
    assert math.copysign(1.0, values[PER_FILE + 4]) == -1.0
