"""The committed record of the public figures is whole, small, and says what the tables say, to the digit."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import fanal
from examples.marin import figures
from examples.marin.build import HERO_RUNS, RUNGS, build
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "examples" / "marin"
TABLES = ROOT.parent / "shared" / "data" / "marin"


@pytest.fixture(scope="module")
def record() -> Record:
    return fanal.open(COMMITTED)


@pytest.fixture(scope="module")
def tables() -> Path:
    if not TABLES.is_dir():
        assert not os.environ.get("CI"), f"CI needs {TABLES}"
        pytest.skip(f"the tables are not at {TABLES}")
    return TABLES


def test_it_is_whole_and_at_most_two_megabytes(record: Record) -> None:
    report = verify(COMMITTED)
    assert report.ok, report.words
    assert sum(path.stat().st_size for path in record.path.rglob("*") if path.is_file()) <= 2_000_000


def test_the_runs_are_the_rungs_and_the_hero_with_its_seven_attempts(record: Record) -> None:
    assert list(record.runs) == [*RUNGS, "hero"]
    assert [record.runs[run].role for run in record.runs] == ["rung"] * 4 + ["hero"]
    assert [attempt.config["run"] for attempt in record.runs["hero"].attempts] == [name for _, name, _ in HERO_RUNS]
    assert {attempt.outcome for attempt in record.runs["hero"].attempts} == {"interrupted"}
    assert {record.runs[rung].attempts[-1].outcome for rung in RUNGS} == {"finished"}


def test_every_key_is_described_with_its_source(record: Record) -> None:
    patterns = {event.fields["pattern"] for event in record.runs["hero"].events("metric")}
    assert patterns == {metric.pattern for metric in figures.METRICS}
    for run in record.runs.values():
        for key in run.keys():  # noqa: SIM118
            assert run.metric(key).text, key
            assert run.metric(key).source, key


@pytest.mark.parametrize("column", figures.DENSE)
def test_a_column_of_the_dense_table_reads_back_exactly(record: Record, tables: Path, column: str) -> None:
    with (tables / "hero_dense.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row[column]]
    series = record.runs["hero"].series(figures.DENSE[column])
    shown = series.steps <= 39_930  # later ones are of another table
    assert series.steps[shown].tolist() == [int(row["step"]) for row in rows]
    assert series.values[shown].tolist() == [float(row[column]) for row in rows]
    times = [round(float(row["unix_time"]) * 1000) * 1_000_000 if row["unix_time"] else 0 for row in rows]
    assert series.times_ns[shown].tolist() == times


def test_evals_by_domain_and_the_macro_of_every_eval_are_there(record: Record, tables: Path) -> None:
    hero = record.runs["hero"]
    with (tables / "hero_eval_domains.csv").open(encoding="utf-8") as file:
        ptb = [row for row in csv.DictReader(file) if row["domain"] == "ptb"]
    series = hero.series("eval_dropless/paloma/ptb/loss")
    assert dict(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == {
        int(row["step"]): float(row["loss"]) for row in ptb
    }
    macro = hero.series(figures.MACRO)
    assert len(macro) == 69
    assert (np.diff(macro.steps) > 0).all()
    assert macro.steps[-1] == 212_999


def test_the_ladder_has_the_macro_evals_of_each_rung(record: Record) -> None:
    assert [len(record.runs[rung].series(figures.MACRO)) for rung in RUNGS] == [20, 20, 21, 16]
    assert [record.runs[rung].config["hidden_dim"] for rung in RUNGS] == [768, 1024, 1536, 2048]


def test_incidents_are_references_and_sources_are_named(record: Record) -> None:
    hero = record.runs["hero"]
    incidents = hero.events("incident.reference")
    assert [event.fields["id"] for event in incidents] == [str(number) for number in range(1, 34)]
    assert all(event.fields["cause"] for event in incidents)
    assert [event.fields["name"] for event in hero.events("source")] == ["marin", *"ABCDEFGHIJ"]
    bias = next(r for e in hero.events("figures") for r in e.fields["rows"] if r.get("tensor") == "router_bias")
    assert bias == {"optimizer_group": "none", "tensor": "router_bias", "norm_min": 0, "norm_max": 538.9,
                    "norm_avg": 311.2}  # fmt: skip


def test_the_committed_record_is_what_the_tables_make(record: Record, tables: Path, tmp_path: Path) -> None:
    build(tables, tmp_path / "record")
    again = fanal.open(tmp_path / "record")
    assert list(again.runs) == list(record.runs)
    for run, view in record.runs.items():
        other = again.runs[run]
        assert other.keys() == view.keys()
        for key in view.keys():  # noqa: SIM118
            ours, theirs = view.series(key), other.series(key)
            for name in ("steps", "values", "times_ns", "attempts"):
                np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=key)
        told = [(e.kind, e.step, e.fields) for e in view.events() if e.kind not in ("attempt.start", "config")]
        assert told == [(e.kind, e.step, e.fields) for e in other.events() if e.kind not in ("attempt.start", "config")]
        assert [a.config for a in view.attempts] == [a.config for a in other.attempts]
