"""What the tracker's calls raise, under the names that scripts catch them by.

FanalError
├── UsageError          a call that cannot be meant as it stands; a ValueError too
│   └── NoRunError      a call that needs a run before `init`; a RuntimeError too
└── CommError           never raised here: nothing is sent
"""

from typing import Any

from fanal.errors import FanalError
from fanal.record.values import CONVERSION_ERRORS, type_name

Error = FanalError
MAX_SHOWN_CHARS = 100


class UsageError(FanalError, ValueError):
    """A call that cannot be meant as it stands."""


class NoRunError(UsageError, RuntimeError):
    """A call that needs a run, before `init` or after `finish`."""


class CommError(FanalError):
    """For scripts that catch it: nothing is sent from here, so it is never raised."""


class AuthenticationError(CommError):
    """For scripts that catch it: nobody logs in anywhere here."""


class UnsupportedError(UsageError):
    """Something that Fanal does another way; the message says which."""


def shown(value: Any) -> str:
    """What was given, for a message: its beginning and its type."""
    try:
        text = repr(value)[:MAX_SHOWN_CHARS]
    except CONVERSION_ERRORS:  # then its type says what it is
        text = "a value"
    return text if isinstance(value, str) else f"{text} ({type_name(value)})"


__all__ = ["AuthenticationError", "CommError", "Error", "NoRunError", "UnsupportedError", "UsageError"]
