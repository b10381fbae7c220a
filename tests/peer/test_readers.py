"""A record's value files in other people's engines: DuckDB, pandas and polars count what was logged, NaN among it.

Engines prune by column statistics, which know no NaN; a value file therefore has none on `value`.
"""

import math
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import fanal

pytestmark = pytest.mark.peer

VALUES = (1.0, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 0.1, 2.0**53, -1e308)


@pytest.fixture(scope="module")
def value_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One closed record with every odd value under two keys."""
    folder = tmp_path_factory.mktemp("record")
    fanal.init(dir=folder, id="odd")
    for step, value in enumerate(VALUES):
        fanal.log({"a/odd": value, "b/plain": float(step)}, step=step)
    fanal.finish()
    (found,) = folder.rglob("*.values0.parquet")
    return found


def counts(values: np.ndarray) -> dict[str, int]:
    """What numpy says of the predicates that engines get wrong."""
    with np.errstate(invalid="ignore"):
        return {
            "nan": int(np.isnan(values).sum()),
            "above": int((values > 0.5).sum()),
            "below": int((values <= 0).sum()),
            "infinite": int(np.isinf(values).sum()),
        }


def test_duckdb_counts_as_numpy_does(value_file: Path) -> None:
    query = """select count(*) filter (isnan(value)) as nan,
                      count(*) filter (value > 0.5 and not isnan(value)) as above,
                      count(*) filter (value <= 0) as below, count(*) filter (isinf(value)) as infinite
               from read_parquet(?) where key = 'a/odd'"""
    found = duckdb.execute(query, [str(value_file)]).fetchone()
    assert found == tuple(counts(np.array(VALUES)).values())


def test_duckdb_finds_nan_by_predicate_alone(value_file: Path) -> None:
    found = duckdb.execute("select step from read_parquet(?) where isnan(value)", [str(value_file)]).fetchall()
    assert found == [(1,)]


@pytest.mark.parametrize("read", [pd.read_parquet, lambda p: pl.read_parquet(p).to_pandas()], ids=["pandas", "polars"])
def test_frames_hold_the_same_bits(value_file: Path, read: object) -> None:
    assert callable(read)
    frame = read(value_file)
    values = frame[frame["key"] == "a/odd"].sort_values("step")["value"].to_numpy()
    assert values.tobytes() == np.array(VALUES).tobytes()
    assert math.copysign(1.0, values[4]) == -1.0
