"""The record that many of these tests read; written once."""

from pathlib import Path

import pytest

from tests.worlds.record import tiny_record


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tiny_record`; never changed."""
    return tiny_record(tmp_path_factory.mktemp("tiny") / "record")
