"""The firefly campaign, run once, for every test that looks at its end."""

import pytest

from tests.e2e.golden import run_firefly
from tests.worlds.firefly import Finished


@pytest.fixture(scope="session")
def firefly(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The firefly campaign, undisturbed."""
    return run_firefly(tmp_path_factory.mktemp("undisturbed"))
