"""The oracle: scripts that import wandb keep with the shim what with wandb, but for a table."""

import math
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.peer.oracle.comparing import BETWEEN, Difference, Listed, differences, gone, listed, unexplained, without
from tests.peer.oracle.page import explained
from tests.peer.oracle.runner import OWN, ROOT, SCRIPTS, packages_without_wandb
from tests.peer.oracle.side_by_side import rows_of_own, side_by_side

pytestmark = pytest.mark.peer


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages_without_wandb(tmp_path_factory.mktemp("packages") / "site")


@pytest.fixture(scope="session")
def table() -> list[Listed]:
    return listed()


def test_there_are_scripts_enough() -> None:
    assert len(SCRIPTS) >= 25


def test_the_shims_side_has_no_wandb_and_all_else(packages: Path) -> None:
    names = {path.name for path in packages.iterdir()}
    assert "wandb" not in names
    assert {"torch", "transformers", "lightning", "accelerate", "numpy"} <= names


def test_a_difference_is_found_and_one_that_is_gone_too() -> None:
    real = {"rows loss": {0: 1, 1: math.nan, 2: 0.0}, "config lr": True}
    ours = {"rows loss": {0: 1.0, 1: math.nan, 2: -0.0}, "config lr": 1}
    found = differences("some", [real], [ours])
    assert found == [
        Difference("some", 1, "config lr", "True", "1"),
        Difference("some", 1, "rows loss", "{2: 0.0}", "{2: -0.0}"),
    ]
    table = [Listed(found[0], "since it is so"), Listed(Difference("some", 1, "label name", '"a"', '"b"'), "as it was")]
    assert unexplained("some", found, table) == found[1:]
    assert gone("some", found, table) == [table[1].difference]
    assert differences("some", [real, real], [ours])[0] == Difference("some", 0, "sittings", "2", "1")


def test_a_difference_that_is_no_more_leaves_the_table_with_its_reason() -> None:
    entry = "script = 'some'\nplace = '{}'\nreal = '1'\nours = '2'\nreason = '{}'"
    entries = [entry.format("config a", "one"), entry.format("config b", "two")]
    text = BETWEEN.join(["# words\n\n[reasons]\none = 'this'\ntwo = 'that'", *entries]) + "\n"
    left = without(text, [Difference("some", 1, "config a", "1", "2")])
    assert left == BETWEEN.join(["# words\n\n[reasons]\ntwo = 'that'", entries[1]]) + "\n"


def test_the_page_says_what_the_table_says(table: list[Listed]) -> None:
    page = (ROOT / "docs" / "oracle.md").read_text("utf-8")
    assert page.endswith(explained(table)), "docs/oracle.md is not of this table: run python -m tests.peer.oracle"
    assert f"wandb {version('wandb')} (offline)" in page
    for name in SCRIPTS:
        count = sum(one.difference.script == name for one in table)
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert row.endswith(f"| {count or 'none'} |")


def test_the_table_names_only_scripts_that_are_there(table: list[Listed]) -> None:
    assert {one.difference.script for one in table} <= {*SCRIPTS, *(f"own/{name}" for name in OWN)}
    assert all(len(one.reason) > 20 for one in table)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_keeps_with_the_shim_what_it_keeps_with_wandb(
    name: str, tmp_path: Path, packages: Path, table: list[Listed]
) -> None:
    found = side_by_side(name, tmp_path, packages).differences
    assert not unexplained(name, found, table)
    assert not gone(name, found, table)


@pytest.mark.parametrize("name", OWN)
def test_our_callback_writes_the_rows_that_the_frameworks_own_writes(
    name: str, tmp_path: Path, packages: Path, table: list[Listed]
) -> None:
    found = rows_of_own(name, tmp_path, packages)
    assert not unexplained(f"own/{name}", found, table)
    assert not gone(f"own/{name}", found, table)
