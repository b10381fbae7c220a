"""The last values of every key, kept at the cost of comparing a row's keys with those of the row before.

A row's values are kept by the keys it has, and looked for only when somebody asks. Safe from several
threads: a row replaces the one before of its own keys and no other.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from fanal.tracker.rows import OWN_KEYS

MAX_SHAPES = 64
"""Of more sets of keys, the rows are folded into one dict."""
MAX_COPIED = 256


class Shape:
    """Keys that were logged together, in their order, and their last row."""

    __slots__ = ("data", "keys", "number", "own")

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.own = not set(OWN_KEYS).isdisjoint(key for key in keys if isinstance(key, str))
        """Whether the row says its own step or time."""
        self.data: Mapping[Any, Any] = {}
        self.number = -1


class Latest:
    """The last values of every key."""

    def __init__(self) -> None:
        self._shape = Shape([])
        self._shapes: dict[tuple[Any, ...], Shape] = {}
        self._older: dict[Any, Any] = {}
        self._count = count()

    def shape(self, data: Mapping[Any, Any]) -> Shape:
        """The shape of a row, made where it is new.

        Raises:
            TypeError: a key cannot be hashed, or this is no mapping.
        """
        keys = list(data)
        shape = self._shape
        if keys != shape.keys:
            if len(self._shapes) >= MAX_SHAPES:
                self._older = self.values()
                self._shapes = {}
            shape = self._shapes.setdefault(tuple(keys), Shape(keys))
            self._shape = shape
        return shape

    def take(self, shape: Shape, data: Mapping[Any, Any]) -> None:
        """Keep a row, as it is now; a wide one as it will be, since its copy would take as long as logging it."""
        shape.data = data if len(shape.keys) > MAX_COPIED else dict(data)
        shape.number = next(self._count)

    def values(self) -> dict[Any, Any]:
        """By key, the last value."""
        found = dict(self._older)
        for shape in sorted(self._shapes.values(), key=lambda shape: shape.number):
            found.update(shape.data)
        return found

    def value(self, key: Any, absent: Any = None) -> Any:
        """The last value of one key; `absent` where there is none."""
        shapes = [shape for shape in list(self._shapes.values()) if key in shape.data]
        if not shapes:
            return self._older.get(key, absent)
        return max(shapes, key=lambda shape: shape.number).data[key]
