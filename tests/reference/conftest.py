"""Everything beside the reference runs in float64, with nothing promoted in silence."""

from collections.abc import Iterator

import jax
import pytest

from tests.worlds.model import strict


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True), strict():
        yield
