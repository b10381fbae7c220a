"""The SQL of a record as text; `tests/peer/test_readers.py` runs it."""

import re
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.record.attempt import Start, start
from fanal.record.reading.views import views_sql
from tests.worlds.record import wide_record


def test_the_sql_names_every_closed_value_and_row_file_and_no_other(tmp_path: Path) -> None:
    wide_record(tmp_path / "r", 5, 4200)
    views = views_sql(tmp_path / "r")
    named = set(re.findall(r"'([^']+\.parquet)'", views.text))
    there = {path.resolve().as_posix() for path in tmp_path.rglob("*.parquet") if ".tiles" not in path.name}
    assert named == there
    assert views.num_files == len(there) >= 4


def test_files_are_named_by_the_address_under_which_they_are_found(tmp_path: Path) -> None:
    wide_record(tmp_path / "r", 2, 300)
    text = views_sql(tmp_path / "r", base="https://host/run/record/").text
    named = re.findall(r"'([^']+\.parquet)'", text)
    assert named
    assert all(name.startswith("https://host/run/record/runs/wide/1/") for name in named)


def test_what_only_a_log_holds_is_said(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0}, 0)
    views = views_sql(tmp_path / "r")
    assert run.place is not None
    assert views.open_writers == (run.place.name,)
    assert f"-- Not in it: rows that only the log of {run.place.name} holds yet." in views.text
    assert views.to_json()["open_writers"] == (run.place.name,)
    assert "read_parquet" not in views.text
    run.finish()
    assert views_sql(tmp_path / "r").open_writers == ()


def test_names_are_quoted_whatever_is_in_them(tmp_path: Path) -> None:
    key = "it's; drop table runs -- \0 \ud800"
    run = start(tmp_path / "r", Start(id="a", name="O'Neil"))
    run.event("metric", pattern=key, reduce="max")
    run.log({key: 1.0}, 0)
    run.finish()
    text = views_sql(tmp_path / "r").text
    assert "('a', 'run', 'O''Neil'," in text
    assert r"('a', 'it''s; drop table runs -- ' || chr(0) || ' \ud800', NULL, 'max')" in text


def test_what_is_no_record_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is no record"):
        views_sql(tmp_path)
