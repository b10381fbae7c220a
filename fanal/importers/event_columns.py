"""Scalars of an event-file chunk as columns: records of one length and layout are cut by column, not parsed one by one.

One record of a layout is parsed by hand (`event_values.scalar_spans`) and says where its time, step, tag and value
stand; all records of that length whose other bytes are equal have that layout. What fits none is left to the caller.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fanal.importers.event_values import Spans, scalar_spans

MAX_LAYOUTS = 12
"""Layouts tried among records of one length; the rest is parsed one by one."""
MAX_TURN = 4096
"""How many keys that are logged in turn are looked for."""


@dataclass
class ScalarColumns:
    """By record of a chunk; `tag_ids` is -1 where a record is no scalar of a known layout."""

    tag_ids: NDArray[np.int64]
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    """Seconds, as the file has them."""
    values: NDArray[np.float64]
    tags: dict[bytes, int]
    """Number of each tag, shared by the chunks of a file."""

    @classmethod
    def empty(cls, num: int, tags: dict[bytes, int]) -> "ScalarColumns":
        """Columns without a scalar."""
        ids = np.full(num, -1, np.int64)
        return cls(ids, np.zeros(num, np.int64), np.zeros(num), np.zeros(num), tags)

    def first(self, num: int) -> "ScalarColumns":
        """The first records."""
        return ScalarColumns(self.tag_ids[:num], self.steps[:num], self.wall_times[:num], self.values[:num], self.tags)

    def take(self, where: NDArray[np.int64], records: NDArray[np.uint8]) -> list[int]:
        """Fill in the scalars among records of one length; the places of the others.

        Shapes: where [N], records [N, length].
        """
        left = np.arange(len(where))
        others: list[int] = []
        for _ in range(MAX_LAYOUTS):
            if not len(left):
                break
            spans = scalar_spans(records[left[0]].tobytes())
            if spans is None:
                others.append(int(where[left[0]]))
                left = left[1:]
                continue
            fits = _fits(records if len(left) == len(records) else records[left], spans)
            if len(left) == len(records) and fits.all():
                self._cut(where, records, spans)
            else:
                self._cut(where[left[fits]], records[left[fits]], spans)
            left = left[~fits]
        return others + where[left].tolist()

    def _cut(self, where: NDArray[np.int64], records: NDArray[np.uint8], spans: Spans) -> None:
        self.wall_times[where] = np.ascontiguousarray(records[:, 1:9]).view("<f8").ravel()
        kind = "<f4" if spans.value_bytes == 4 else "<f8"
        value = records[:, spans.value : spans.value + spans.value_bytes]
        self.values[where] = np.ascontiguousarray(value).view(kind).ravel()
        for place in range(spans.step_bytes):
            septet = (records[:, spans.step + place] & 127).astype(np.int64)
            self.steps[where] |= septet << (7 * place)
        self.tag_ids[where] = self._ids(np.ascontiguousarray(records[:, spans.tag : spans.tag + spans.tag_bytes]))

    def _ids(self, tags: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The number of each tag; keys that are logged in turn are looked up once."""
        num, length = tags.shape
        again = np.flatnonzero((tags[1 : 1 + MAX_TURN] == tags[0]).all(axis=1))
        turn = int(again[0]) + 1 if len(again) else num
        if turn < num and not (tags[turn:] == tags[:-turn]).all():
            turn = num
        named = tags[:turn]
        names: list[bytes] = named.view(f"V{length}").ravel().tolist() if length else [b""] * turn
        known = self.tags
        for name in dict.fromkeys(names):
            if name not in known:
                known[name] = len(known)
        ids = np.array([known[name] for name in names], np.int64)
        return np.tile(ids, -(-num // turn))[:num]


def _fits(records: NDArray[np.uint8], spans: Spans) -> NDArray[np.bool_]:
    fixed = list(spans.fixed)
    fits = (records[:, fixed] == records[0, fixed]).all(axis=1)
    if spans.step_bytes:
        step = records[:, spans.step : spans.step + spans.step_bytes]
        fits &= (step[:, :-1] > 127).all(axis=1) & (step[:, -1] < 128)
    return fits
