"""One compiler for the whole session: a shape is compiled once, however many tests train it."""

from collections.abc import Iterator

import pytest

from fanal.train.compile import Compiler, compiling


@pytest.fixture(scope="session")
def compiler() -> Iterator[Compiler]:
    with compiling() as compiler:
        yield compiler
