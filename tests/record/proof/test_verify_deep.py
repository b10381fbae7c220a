"""`fanal verify --deep`: what was derived is computed anew, so that a record forged whole still contradicts itself."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fanal.record.attempt import Start, start
from fanal.record.files import read_document, seal, sha256
from fanal.record.proof import manifest
from fanal.record.proof.verify import verify

ROWS = 700


@pytest.fixture(scope="module")
def tiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with tiles: keys of short and of long values, with NaN, an infinity and a key that is nothing else."""
    folder = tmp_path_factory.mktemp("tiled") / "r"
    run = start(folder, Start(id="a"))
    for n in range(ROWS):
        odd = math.nan if n % 97 == 3 else math.inf if n == 400 else n / 4
        run.log({"short": odd, "long": n / 7, "big": 1e308, "never": math.nan, "count": n}, n)
        if n % 10 == 0:
            run.log({"count": 2**60 + n, "eval": 1.0}, n)
    run.finish()
    return folder


@pytest.fixture
def forged(tiled: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiled, tmp_path / "r")
    return tmp_path / "r"


def reforge(record: Path, changes: Callable[[dict[str, Any]], object] = lambda fields: None) -> Path:
    """Make every hash fit again after files were changed, as whoever has no key could; the segment's manifest."""
    (path,) = record.glob("runs/a/1/*/seg/1.json")
    fields = read_document(path)
    for file in fields["files"]:
        data = (path.parent / file["name"]).read_bytes()
        file |= {"bytes": len(data), "sha256": sha256(data)}
    changes(fields)
    path.write_bytes(seal(fields))
    (record / "manifest.json").unlink()
    shutil.rmtree(record / "tree")
    manifest.commit(record)
    report = verify(record)
    assert report.exit_code == 0, report.words
    return path


def edit(record: Path, role: str, column: str, change: Callable[[Any], Any]) -> Path:
    """Change a column of a file."""
    path = next(record.glob(f"runs/a/1/*/seg/1.{role}0.parquet"))
    table = pq.read_table(path)
    groups = [pq.ParquetFile(path).metadata.row_group(i).num_rows for i in range(pq.ParquetFile(path).num_row_groups)]
    at = table.column_names.index(column)
    table = table.set_column(at, table.schema.field(at), change(table.column(at)).cast(table.schema.field(at).type))
    with pq.ParquetWriter(path, table.schema) as writer:
        start_at = 0
        for num in groups:
            writer.write_table(table.slice(start_at, num), row_group_size=num)
            start_at += num
    return path


def test_a_whole_record_follows_from_its_values(tiled: Path, tiny: Path, signed: Path) -> None:
    for record in (tiled, tiny, signed / "r"):
        report = verify(record, deep=True)
        assert report.exit_code == 0, report.words
    words = verify(tiled, deep=True).words
    assert "deep: 770 rows and 3,640 values in segments counted, " in words
    assert int(words.partition("counted, ")[2].partition(" tiles")[0]) > 100
    assert "100 rows in logs read" in verify(signed / "r", deep=True).words


def lowered(column: Any) -> Any:
    values = column.to_pylist()
    index = next(i for i, value in enumerate(values) if value is not None and not math.isnan(value) and value > 1)
    values[index] = values[index] * 0.99
    return pa.chunked_array([values])


def one_more(column: Any) -> Any:
    return pc.add(column, 1)


TILES = {"min": lowered, "max": lowered, "mean": lowered, "count": one_more, "nonfinite": one_more, "level": one_more}


@pytest.mark.parametrize("column", [*TILES, "bucket"])
def test_a_tile_that_is_not_that_of_its_values_is_found(forged: Path, column: str) -> None:
    path = edit(forged, "tiles", column, TILES.get(column, one_more))
    reforge(forged)
    report = verify(forged, deep=True)
    assert (report.exit_code, report.first_bad) == (1, path.relative_to(forged).as_posix()), report.words
    assert "key 'short'" in report.words


def test_a_value_that_its_tiles_do_not_have_is_found(forged: Path) -> None:
    edit(forged, "values", "value", lambda column: lowered(column))
    reforge(forged)
    report = verify(forged, deep=True)
    assert report.exit_code == 1
    assert "is not that of the values" in report.words


@pytest.mark.parametrize(
    ("role", "column", "words"),
    [
        ("values", "step", "has other rows or steps than the segment"),
        ("values", "row", "has other rows or steps than the segment"),
        ("rows", "row", "its rows are not numbered through"),
        ("rows", "step", "says of group 0 what its rows do not"),
        ("rows", "sequence", "says of group 0 what its rows do not"),
    ],
)
def test_rows_steps_and_numbers_that_contradict_each_other_are_found(
    forged: Path, role: str, column: str, words: str
) -> None:
    edit(forged, role, column, one_more)
    reforge(forged)
    report = verify(forged, deep=True)
    assert report.exit_code == 1
    assert words in report.words


def test_a_key_under_anothers_name_is_found(forged: Path) -> None:
    edit(forged, "values", "key", lambda column: pc.replace_substring(column, "short", "shirt"))
    reforge(forged)
    assert "does not hold key 'short'" in verify(forged, deep=True).words


@pytest.mark.parametrize("name", ["rows", "values", "facts"])
def test_a_count_that_is_not_so_is_found(forged: Path, name: str) -> None:
    def count(fields: dict[str, Any]) -> None:
        fields["counts"][name] += 1

    path = reforge(forged, count)
    report = verify(forged, deep=True)
    assert (report.exit_code, report.first_bad) == (1, path.relative_to(forged).as_posix())
    assert "and its files hold" in report.words


@pytest.mark.parametrize("role", ["exact", "facts"])
def test_facts_and_exact_values_that_stand_where_they_cannot_are_found(forged: Path, role: str) -> None:
    path = next(forged.glob(f"runs/a/1/*/seg/1.{role}0.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    number = b'"sequence":7' if role == "facts" else b'"sequence":1'
    old = lines[-1].partition(b'"sequence":')[2].partition(b",")[0]
    lines[-1] = lines[-1].replace(b'"sequence":' + old, number)
    path.write_bytes(b"".join(lines))
    reforge(forged)
    assert "whose numbers are not theirs" in verify(forged, deep=True).words


def test_a_key_that_utf_8_cannot_say_is_whole(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for n in range(100):
        run.log({"\ud800": n / 3, "\\ud800": 2.0, "b": 2.0}, n)
    run.finish()
    report = verify(tmp_path / "r", deep=True)
    assert report.exit_code == 0, report.words
    assert "300 values" in report.words
