"""Keyed integers: a stable hash of names, a stable random stream and a stable shuffle.

Guarantees: integer arithmetic alone, the same on every machine and for ever (data order and samples
rest on it, so it is pinned by golden files); no dependence on Python's `hash` or on NumPy's generators.
Costs a few microseconds a value. It is no cryptography.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

_MASK = (1 << 64) - 1
_ROUNDS = 6


def key64(*parts: str | int) -> int:
    """64 bits of BLAKE2b over the parts, written out and separated: the hash behind every choice by name."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def mix64(value: int) -> int:
    """One step of SplitMix64: 64 bits that look random, from 64 that need not.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
    """
    z = (value + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Stream:
    """A stream of random integers from one key."""

    def __init__(self, key: int) -> None:
        self._state = key

    def below(self, bound: int) -> int:
        """An integer in [0, bound); the bias is below bound / 2^64."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        return (mix64(self._state) * bound) >> 64

    def pick(self, items: Sequence[str]) -> str:
        """One of `items`."""
        return items[self.below(len(items))]


@dataclass(frozen=True)
class Permutation:
    """A shuffle of [0, size) with random access both ways: nothing is stored and nothing is replayed.

    A Feistel network on pairs (row, column) of the smallest grid that holds `size` cells, with
    addition instead of exclusive or, walked on where it lands outside [0, size).
    """

    size: int
    key: int

    def forward(self, index: int) -> int:
        """Where `index` goes."""
        assert 0 <= index < self.size
        rows, columns = self._grid()
        while True:
            row, column = divmod(index, columns)
            for turn in range(0, _ROUNDS, 2):
                row = (row + self._round(turn, column)) % rows
                column = (column + self._round(turn + 1, row)) % columns
            index = row * columns + column
            if index < self.size:
                return index

    def inverse(self, index: int) -> int:
        """What goes to `index`."""
        assert 0 <= index < self.size
        rows, columns = self._grid()
        while True:
            row, column = divmod(index, columns)
            for turn in range(_ROUNDS - 2, -1, -2):
                column = (column - self._round(turn + 1, row)) % columns
                row = (row - self._round(turn, column)) % rows
            index = row * columns + column
            if index < self.size:
                return index

    def _grid(self) -> tuple[int, int]:
        rows = isqrt(self.size - 1) + 1 if self.size > 1 else 1
        return rows, -(-self.size // rows)

    def _round(self, turn: int, half: int) -> int:
        return mix64(self.key ^ mix64((turn << 56) ^ half))
