"""Tables are JSON lines whose cells may be media, and come from frames and arrays."""

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import fanal
from tests.tracker.conftest import blob, logged

PIXELS = (np.arange(12 * 16 * 3) % 256).astype(np.uint8).reshape(12, 16, 3)


def opened(ref: dict[str, Any]) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(blob(ref))))


class DataFrame:
    """As much of a frame of pandas as a table asks for."""

    columns = ("step", "loss")

    def itertuples(self, index: bool, name: str | None) -> Iterator[tuple[int, float]]:
        assert (index, name) == (False, None)
        yield from ((1, 0.5), (2, 0.25))


def test_tables_are_json_lines_whose_cells_may_be_media() -> None:
    table = fanal.Table(columns=["prompt", "score", "picture"])
    table.add_data("2+2", 1.0, fanal.Image(PIXELS))
    table.add_data("3+3", math.nan, None)
    found = logged(table)
    assert (found["columns"], found["num_rows"]) == (["prompt", "score", "picture"], 2)
    rows = [json.loads(line) for line in blob(found["rows"]).splitlines()]
    assert rows[0][:2] == ["2+2", 1.0]
    assert np.array_equal(opened(rows[0][2]["file"]), PIXELS)
    assert rows[1] == ["3+3", {"$float": "NaN"}, None]
    with pytest.raises(fanal.UsageError, match="has 3 cells, got 1"):
        table.add_data("short")


DataFrame.__module__ = "pandas"


def test_tables_come_from_frames_and_arrays() -> None:
    frame = DataFrame()
    for table in (
        fanal.Table(dataframe=frame),
        fanal.Table(data=frame),
        fanal.Table(columns=["step", "loss"], data=[[1, 0.5], [2, 0.25]]),
    ):
        assert (table.columns, table.data) == (["step", "loss"], [[1, 0.5], [2, 0.25]])
    assert logged(frame)["columns"] == ["step", "loss"]
    assert fanal.Table(data=np.eye(2)).columns == ["column 0", "column 1"]
    assert fanal.Table(data=np.eye(2)).get_column("column 1") == [0.0, 1.0]
