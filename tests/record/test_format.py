"""`docs/format.md` is enough: a reader written from it alone reads what Fanal reads."""

from pathlib import Path

import numpy as np

import fanal
from fanal.record.attempt import Start, start
from tests.reference import record_reader
from tests.worlds.record import RUN, wide_key, wide_record, wide_value


def test_a_reader_without_fanal_reads_the_same_series(tiny: Path) -> None:
    assert record_reader.runs(tiny) == [RUN]
    view = fanal.open(tiny).runs[RUN]
    for key in view.keys():  # noqa: SIM118
        steps, values = record_reader.series(tiny, RUN, key)
        assert steps == view.series(key).steps.tolist()
        np.testing.assert_array_equal(values, view.series(key).values)


def test_a_reader_without_fanal_checks_the_chain(tiny: Path) -> None:
    assert record_reader.check(tiny) == len([path for path in tiny.rglob("*") if path.is_file()])


def test_a_reader_without_fanal_reads_an_open_log(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(10):
        run.log({"x": step / 2, "n": step}, step)
    run.log({"x": 2**60 + 1, "n": 1}, 2**40)
    steps, values = record_reader.series(tmp_path / "r", "a", "x")
    assert steps == [*range(10), 2**40]
    assert values == [*(step / 2 for step in range(10)), float(2**60 + 1)]
    run.finish()


def test_a_wide_record_reads_without_fanal(tmp_path: Path) -> None:
    wide_record(tmp_path / "r", 90, 4200)
    steps, values = record_reader.series(tmp_path / "r", "wide", wide_key(61))
    assert steps == list(range(0, 42_000, 10))
    assert values == [wide_value(61, row) for row in range(4200)]
