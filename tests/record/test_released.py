"""A record by each released version opens, holds what was logged into it, and is whole.

`tests/golden/records/<version>/expected.json` was made from what was logged, not from what was read back: values are
`float <hexadecimal>`, `int <decimal>`, true or false.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.record.layout import all_writers
from fanal.record.proof.verify import verify
from fanal.record.reading.read import RunView

RELEASED = sorted((Path(__file__).parents[1] / "golden" / "records").iterdir())


def told(value: object) -> object:
    """A value as `expected.json` writes it."""
    if isinstance(value, bool | str) or value is None:
        return value
    return f"int {value}" if isinstance(value, int) else f"float {value.hex()}" if isinstance(value, float) else value


def points(view: RunView, key: str, attempt: int | None = None) -> list[list[Any]]:
    series, exact = view.series(key, attempt), view.exact(key, attempt)
    attempts = [] if attempt else [series.attempts.tolist()]
    return [list(point) for point in zip(series.steps.tolist(), *attempts, map(told, exact), strict=True)]


@pytest.fixture(params=RELEASED, ids=lambda path: path.name)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the record, and what it must hold."""
    shutil.copytree(request.param / "record", tmp_path / "record")
    return tmp_path / "record", json.loads((request.param / "expected.json").read_text("utf-8"))


def test_every_point_reads_back_stitched_and_by_attempt(released: tuple[Path, dict[str, Any]]) -> None:
    record, expected = fanal.open(released[0]), released[1]
    assert set(record.runs) == set(expected["runs"])
    for run, keys in expected["shown"].items():
        view = record.runs[run]
        assert set(view.keys()) == set(keys)
        for key, wanted in keys.items():
            assert points(view, key) == wanted, (run, key)
            for attempt, logged in expected["by_attempt"][run][key].items():
                assert points(view, key, int(attempt)) == logged, (run, key, attempt)


def test_attempts_configs_events_and_odd_values_read_back(released: tuple[Path, dict[str, Any]]) -> None:
    record, expected = fanal.open(released[0]), released[1]
    for run, wanted in expected["runs"].items():
        view = record.runs[run]
        assert (view.role, view.name) == (wanted["role"], wanted["name"])
        for attempt, about in zip(view.attempts, wanted["attempts"], strict=True):
            assert {name: told(value) for name, value in attempt.config.items()} == about.pop("config")
            assert {name: getattr(attempt, name) for name in about} == about
        found = [[e.attempt, e.kind, e.step, {n: told(v) for n, v in e.fields.items()}] for e in view.events()]
        assert [event for event in found if event[1] in ("sample", "note")] == expected["events"][run]
        odd = [[other.key, other.step, other.value] for other in view.others()]
        assert odd == expected["odd"].get(run, [])


def test_it_verifies_as_whole_and_unsigned(released: tuple[Path, dict[str, Any]]) -> None:
    report = verify(released[0])
    assert report.exit_code == 0
    assert "whole, unsigned" in report.words


def test_a_kept_record_is_small_and_one_of_its_logs_is_open() -> None:
    assert RELEASED
    for path in RELEASED:
        assert sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) <= 100_000
        assert any(list((writer.folder / "log").glob("*.log")) for writer in all_writers(path / "record"))
