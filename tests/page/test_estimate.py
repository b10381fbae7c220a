"""The estimate: counted from the record's own pace, by arithmetic that can be done by hand."""

import time
from pathlib import Path
from unittest.mock import patch

import pytest

from fanal.errors import RecordError
from fanal.page.estimate import MONTH_SECONDS, PRICES, estimate
from fanal.record.attempt import Start, start


def record_of(folder: Path, rows: int, seconds_between: float) -> Path:
    """A run whose rows are so far apart."""
    now = [1_790_000_000 * 10**9]
    with patch.object(time, "time_ns", lambda: now[0]):
        run = start(folder, Start(id="one", clock=lambda: now[0]))
        for step in range(rows):
            run.log({"loss": 1.0}, step)
            now[0] += round(seconds_between * 1e9)
        run.finish()
    return folder


@pytest.mark.parametrize(("rows", "between"), [(100, 200.0), (2000, 0.4)])
def test_puts_follow_the_rows_but_no_faster_than_the_publisher(tmp_path: Path, rows: int, between: float) -> None:
    found = estimate(record_of(tmp_path / "record", rows, between))
    assert found.rows == rows
    assert found.seconds == pytest.approx((rows - 1) * between)
    rounds = min(MONTH_SECONDS / (between * (rows - 1) / rows), MONTH_SECONDS / 0.5)
    assert found.puts_a_month is not None
    assert found.objects_a_month is not None
    assert found.puts_a_month - found.objects_a_month == pytest.approx(4 * rounds, rel=1e-3)
    slower = estimate(tmp_path / "record", every_seconds=10.0)
    assert slower.puts_a_month is not None
    assert slower.puts_a_month <= found.puts_a_month


def test_dollars_are_the_sum_of_storage_requests_and_traffic(tmp_path: Path) -> None:
    found = estimate(record_of(tmp_path / "record", 50, 60.0))
    assert found.bytes_a_month is not None
    assert found.puts_a_month is not None
    assert found.gets_a_month is not None
    assert found.bytes_out_a_month is not None
    by_host = dict(found.dollars_a_month)
    for price in PRICES:
        public = sum(p.stat().st_size for p in (tmp_path / "record").rglob("*") if p.is_file())
        stored = (public + found.bytes_a_month) / 1e9 * price.gigabyte_month
        asked = found.puts_a_month / 1e6 * price.million_puts + found.gets_a_month / 1e6 * price.million_gets
        out = found.bytes_out_a_month / 1e9 * price.gigabyte_out
        assert by_host[price.host] == pytest.approx(stored + asked + out, rel=0.01), price.host
    assert by_host["a folder on your own server"] == 0


def test_it_says_that_prices_change_and_where_they_are_from(tmp_path: Path) -> None:
    found = estimate(record_of(tmp_path / "record", 5, 200.0))
    assert "prices change" in found.words
    assert set(found.to_json()) >= {"objects", "bytes", "puts_a_month", "dollars_a_month"}
    page = (Path(__file__).parents[2] / "docs" / "hosting.md").read_text("utf-8")
    for price in PRICES[:-1]:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {price.host.rstrip(')')}")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        written = [float(cell) for cell in cells[1:5]]
        assert written == [price.gigabyte_month, price.million_puts, price.million_gets, price.gigabyte_out]


def test_less_than_ten_minutes_give_no_figures_for_a_month(tmp_path: Path) -> None:
    short = estimate(record_of(tmp_path / "record", 200, 0.0001))
    assert (short.objects_a_month, short.puts_a_month, short.dollars_a_month) == (None, None, ())
    assert "200 rows in 0.0 s" in short.words
    assert "no figures for a month: the record spans less than ten minutes" in short.words
    assert "$" not in short.words
    assert estimate(record_of(tmp_path / "longer", 5, 150.0)).objects_a_month is not None


def test_nothing_is_written_and_an_empty_record_costs_nothing_more(tmp_path: Path) -> None:
    record = record_of(tmp_path / "record", 0, 1.0)
    before = sorted(p for p in tmp_path.rglob("*"))
    found = estimate(record)
    assert (found.rows, found.objects_a_month) == (0, None)
    assert sorted(p for p in tmp_path.rglob("*")) == before
    with pytest.raises(RecordError, match="is no record"):
        estimate(tmp_path / "none")


def test_rows_whose_source_has_no_time_say_nothing_of_the_pace(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one"))
    for step in range(10):
        run.log({"loss": 1.0}, step, time_ns=0 if step < 5 else 1_790_000_000 * 10**9 + step * 10**9)
    run.finish()
    found = estimate(tmp_path / "record")
    assert (found.rows, found.seconds) == (5, 4.0)
