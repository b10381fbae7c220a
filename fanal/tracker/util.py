"""Small helpers under the name that scripts look for them: `util.generate_id()`."""

import os

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def generate_id(length: int = 8) -> str:
    """A random id of a run."""
    return "".join(_LETTERS[byte % 32] for byte in os.urandom(length))
