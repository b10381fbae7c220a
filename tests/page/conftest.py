"""One made campaign for all tests of the page, looked at while it grows, and a small one with faults in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import fanal
from fanal.page.state import PageState, page_state
from fanal.record.reading.read import Record
from tests.worlds.campaign_record import Made, Recipe

HOSTILE = "</script><img src=x onerror=alert(1)>\u202egpj"


@dataclass(frozen=True)
class Grown:
    """States of one campaign at its stations, and where it stands in the end."""

    states: dict[str, PageState]
    made: Made


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A lantern looked at before its first row, in a data stage, inside a rung, sealed, half way and finished."""
    made = Made(tmp_path_factory.mktemp("lantern"))
    states: dict[str, PageState] = {"begun": _state(made)}
    states["data"] = _state(made.data("near_duplicates"))
    states["rung"] = _state(made.data().rungs("d48", 0.46))
    states["sealed"] = _state(made.rungs().seal())
    states["half"] = _state(made.hero(0.54))
    states["done"] = _state(made.hero(1.0).finish())
    return Grown(states, made)


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A firefly with faults, 70 % into its hero; no test takes it further."""
    made = _faulty(tmp_path_factory.mktemp("firefly"))
    yield made
    made.close()


@pytest.fixture
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The same for one test alone, which may take it further."""
    made = _faulty(tmp_path_factory.mktemp("growing"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def faulty_state(faulty: Made) -> PageState:
    """What the page shows of it."""
    return _state(faulty)


def _state(made: Made) -> PageState:
    record: Record = fanal.open(made.record)
    return page_state(record)


def _faulty(folder: Path) -> Made:
    """Values that are not finite, skipped updates, an interruption, a resume and hostile words."""
    recipe = Recipe(campaign="firefly", hostile=HOSTILE, bad_steps=(30, 31, 32, 50), bad_evals=(4, 5))
    return Made(folder, recipe).data().rungs().seal().hero(0.6).interrupt("Ctrl-C").resume().hero(0.7)
