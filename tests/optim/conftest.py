"""Nothing is promoted in silence in these tests."""

from collections.abc import Iterator

import pytest

from tests.worlds.model import strict


@pytest.fixture(autouse=True)
def no_promotion() -> Iterator[None]:
    with strict():
        yield
