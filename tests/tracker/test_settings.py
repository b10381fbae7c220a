"""Settings know what was given, and every one that is read is known."""

from typing import Any

import pytest

from fanal.tracker.asked import Asked, resolve
from fanal.tracker.settings import HONOURED, VARIABLES, Settings


def asked(environ: dict[str, str] | None = None, **arguments: Any) -> Asked:
    return resolve(arguments, environ or {})


def test_every_setting_and_variable_is_one_that_is_read() -> None:
    known = {
        *Asked.__dataclass_fields__,
        "dir",
        "disable_git",
        "disable_code",
        "disable_meta",
        "disable_stats",
        "allow_val_change",
    }
    assert set(HONOURED.values()) <= known
    assert set(VARIABLES) <= known


def test_settings_know_what_was_given_and_are_none_elsewhere() -> None:
    settings = Settings(console="off", x_label="rank-0")
    assert (settings.console, settings.mode, settings.to_dict()) == (
        "off",
        None,
        {"console": "off", "x_label": "rank-0"},
    )
    assert settings.copy().console == "off"
    assert asked(settings=settings).label == "rank-0"
    assert "console='off'" in repr(settings)
    with pytest.raises(AttributeError):
        _ = settings.__wrapped__
