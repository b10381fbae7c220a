"""`docs/format.md` is enough: the reader in docs/, written from it alone, reads what Fanal reads and finds the root."""

import ast
import hashlib
import json
import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import fanal
from fanal.record.attempt import Start, Withhold, start
from fanal.record.layout import all_writers
from fanal.record.proof.tree import Peaks
from fanal.record.reading.read import Record, RunView
from tests.record.test_stitching import KEYS, write_world
from tests.worlds.record import RUN, wide_key, wide_record, wide_value

READER = Path(__file__).parents[2] / "docs" / "read_without_fanal.py"


def load() -> ModuleType:
    spec = spec_from_file_location("read_without_fanal", READER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reader = load()


def points(view: RunView, key: str) -> list[tuple[int, str, str, int, str]]:
    """A series as the other reader gives it, values as their bits."""
    series = view.series(key)
    places = zip(series.attempts.tolist(), series.writers.tolist(), strict=True)
    origins = [(series.origins[number], writer) for number, writer in places]
    values = [value.hex() for value in series.values.tolist()]
    names = [(origin.run, origin.attempt, origin.writers[writer]) for origin, writer in origins]
    return [(step, value, *name) for step, value, name in zip(series.steps.tolist(), values, names, strict=True)]


def check_all_keys(record: Record) -> None:
    for run, view in record.runs.items():
        for key in view.keys():  # noqa: SIM118
            found = [(step, value.hex(), *origin) for step, value, *origin in reader.series(record.path, run, key)]
            assert found == points(view, key), (run, key)


def test_it_is_short_and_imports_nothing_of_fanal() -> None:
    text = READER.read_text("utf-8")
    assert len(text.splitlines()) <= 150
    modules = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    modules |= {a.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for a in node.names}
    assert not [name for name in modules if name is None or name.startswith("fanal")]


def test_it_reads_the_same_series(tiny: Path) -> None:
    assert reader.runs(tiny) == [RUN]
    check_all_keys(fanal.open(tiny))


def test_it_reads_an_open_log(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(10):
        run.log({"x": step / 2, "n": step}, step)
    run.log({"x": 2**60 + 1, "n": 1}, 2**40)
    wanted = [*((step, step / 2) for step in range(10)), (2**40, float(2**60 + 1))]
    assert [point[:2] for point in reader.series(tmp_path / "r", "a", "x")] == wanted
    run.finish()
    assert [point[:2] for point in reader.series(tmp_path / "r", "a", "x")] == wanted


def test_it_reads_a_wide_record(tmp_path: Path) -> None:
    wide_record(tmp_path / "r", 90, 4200)
    found = reader.series(tmp_path / "r", "wide", wide_key(61))
    assert [point[0] for point in found] == list(range(0, 42_000, 10))
    assert [point[1] for point in found] == [wide_value(61, row) for row in range(4200)]


@pytest.mark.parametrize("seed", [4, 13])
def test_it_stitches_forks_and_stitches_of_several_writers(tmp_path: Path, seed: int) -> None:
    world = write_world(tmp_path / "r", random.Random(seed))
    assert any(told.from_run for tolds in world.values() for told in tolds)
    assert any(told.parts for tolds in world.values() for told in tolds)
    assert KEYS
    check_all_keys(fanal.open(tmp_path / "r"))
    reader.check(tmp_path / "r")


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "golden" / "records").iterdir()))
def test_it_reads_the_records_of_released_versions(path: Path) -> None:
    check_all_keys(fanal.open(path))
    assert reader.check(path / "record") == sum(
        len(list(w.folder.glob("seg/*.json"))) for w in all_writers(path / "record")
    )


def test_it_checks_every_segment_and_the_root(tiny: Path) -> None:
    assert reader.check(tiny) == 2
    assert json.loads((tiny / "manifest.json").read_text())["tree"]["size"] == 2


def test_it_finds_any_changed_file_that_a_hash_names(tiny: Path) -> None:
    names = [path for path in sorted(tiny.rglob("*")) if path.is_file() and path.parent.name not in ("blobs",)]
    found = 0
    for path in names:
        data = path.read_bytes()
        if not data:
            continue  # a lock
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        with pytest.raises((AssertionError, ValueError)):
            reader.check(tiny)
        path.write_bytes(data)
        found += 1
    assert found > 10
    reader.check(tiny)


def test_its_root_is_the_trees_for_any_number_of_leaves() -> None:
    for size in range(70):
        leaves = [hashlib.sha256(b"\0%d" % number).digest() for number in range(size)]
        peaks = Peaks()
        for leaf in leaves:
            peaks.append(leaf)
        assert reader.root(leaves) == peaks.root()


def test_a_withheld_writer_may_have_no_files(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", withhold=(Withhold("secret/*", "under review"),)))
    for step in range(5):
        run.log({"x": 1.0, "secret/y": 2.0}, step)
    run.finish()
    assert reader.check(tmp_path / "r") == 2
    view = fanal.open(tmp_path / "r").runs["a"]
    ((withheld, reason),) = view.withheld.items()
    assert reason == "under review"
    for path in sorted((tmp_path / "r" / "runs" / "a" / "1" / withheld / "seg").iterdir()):
        path.unlink()
    (tmp_path / "r" / "runs" / "a" / "1" / withheld / "seg").rmdir()
    assert reader.check(tmp_path / "r") == 1
    assert len(reader.series(tmp_path / "r", "a", "x")) == 5
    assert reader.series(tmp_path / "r", "a", "secret/y") == []
