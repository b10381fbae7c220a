"""What is remembered of records' keys, and where."""

from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.record.proof.known_keys import KnownKey, config_folder, remember, remembered

pytestmark = pytest.mark.usefixtures("config")


def test_a_key_is_remembered_and_replaced(config: Path) -> None:
    assert remembered("a") is None
    remember("a", KnownKey("K1"))
    remember("b", KnownKey("K2", only_published=True))
    assert (remembered("a"), remembered("b"), remembered("c")) == (KnownKey("K1"), KnownKey("K2", (), True), None)
    remember("a", KnownKey("K3", ("K1", "K0")))
    assert remembered("a") == KnownKey("K3", ("K1", "K0"))
    assert (config / "known_keys").read_text() == "a K3 K1 K0\nb K2 published\n"


def test_the_folder_is_the_users_configuration_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANAL_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    assert config_folder() == Path("/c/fanal")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert config_folder() == Path("/h/.config/fanal")


def test_a_line_that_is_none_of_ours_is_named(config: Path) -> None:
    config.mkdir()
    (config / "known_keys").write_text("a K1\n\nsecret\n")
    with pytest.raises(RecordError, match=r"known_keys, line 3: must be a record's origin and its key") as said:
        remembered("a")
    assert "secret" not in str(said.value)
    (config / "known_keys").write_bytes(b"\xff")
    with pytest.raises(RecordError, match="cannot be read"):
        remembered("a")
