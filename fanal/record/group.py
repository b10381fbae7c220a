"""Keys logged together with one set of value types: made once, so that a row costs one copy."""

from struct import Struct
from typing import Any

from fanal.record import frames
from fanal.record.log import LogFile
from fanal.record.values import EXACT_INT, encode

Exact = list[tuple[int, Any]]
"""Positions in a row and encoded values that a float64 cannot hold."""


class Group:
    """A group, and where the current log file defines it."""

    __slots__ = ("head", "ints", "key_list", "keys", "log", "long", "names", "rows", "short", "types")

    def __init__(self, keys: tuple[str, ...], types: tuple[type, ...]) -> None:
        codes = "".join(frames.TYPE_CODES[t] for t in types)
        self.keys = keys
        self.key_list = list(keys)
        """The same once more: a row's keys are compared with these, and a list is made in half a tuple's time."""
        self.types = types
        self.ints = tuple(position for position, code in enumerate(codes) if code == "i")
        self.names = frames.pack_names(keys, codes)
        self.short = Struct(f"{frames.SHORT.format}{len(keys)}d")
        self.long = Struct(f"{frames.LONG.format}{len(keys)}d")
        self.log: LogFile | None = None
        self.head = 0
        """Kind and number in `log`, as a row's payload begins."""
        self.rows = 0
        """Rows since the last closing was asked for."""

    def exact(self, values: tuple[Any, ...]) -> Exact:
        """Positions and encoded forms of the integers that a float64 cannot hold."""
        found = [p for p in self.ints if not -EXACT_INT <= values[p] <= EXACT_INT]
        return [(p, encode(values[p])) for p in found]
