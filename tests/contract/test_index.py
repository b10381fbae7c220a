"""`index.toml` names every row of the list of known faults, and every contract test stands in it: checked both ways."""

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared"
LISTS = {SHARED / "pains.md": r"^\| ([A-Z]\d+) \|", SHARED / "pains_record.md": r"^(\d+)\. "}
"""Each list of known faults and where a row's id stands in it; rows of the record's list get an R before."""
INDEX: dict[str, dict[str, object]] = tomllib.loads((HERE / "index.toml").read_text("utf-8"))


def contract_tests() -> set[str]:
    """Every test of this folder that belongs to a row, as `file::function`."""
    found = set[str]()
    for path in HERE.glob("test_*.py"):
        if path.name == Path(__file__).name:
            continue
        functions = (n.name for n in ast.parse(path.read_text("utf-8")).body if isinstance(n, ast.FunctionDef))
        found |= {f"{path.name}::{name}" for name in functions if name.startswith("test_")}
    return found


def test_every_row_names_its_tests_or_the_part_that_will_hold_them() -> None:
    for row, entry in INDEX.items():
        assert set(entry) in ({"tests"}, {"later"}, {"tests", "later"}), f"{row}: give tests, later or both"


def test_every_named_test_exists_and_belongs_to_its_row() -> None:
    existing = contract_tests()
    for row, entry in INDEX.items():
        for name in entry.get("tests", []):
            assert name in existing, f"{row}: {name} is not there"
            assert f"::test_{row.lower()}_" in name, f"{row}: {name} names another row"


def test_every_contract_test_stands_in_the_index() -> None:
    named = {name for entry in INDEX.values() for name in entry.get("tests", [])}
    assert contract_tests() == named


def test_the_index_has_exactly_the_rows_of_the_lists() -> None:
    if not SHARED.is_dir():
        assert not os.environ.get("CI"), f"CI needs {SHARED}"
        pytest.skip(f"the lists of faults are not at {SHARED}")
    rows = [row for path, pattern in LISTS.items() for row in re.findall(pattern, path.read_text("utf-8"), re.M)]
    assert sorted(row if row[0].isalpha() else f"R{row}" for row in rows) == sorted(INDEX)
