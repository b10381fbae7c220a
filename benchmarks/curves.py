"""Rows of wandering curves of float32, as a trainer's norms are; every one fresh."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, names

STEP_FRAC = 0.0025
"""How far a curve wanders in a row, of its value."""


def curves(num_keys: int) -> Iterator[NDArray[np.float64]]:
    """The values of row after row."""
    chance = np.random.default_rng(0)
    values = np.exp(chance.normal(size=num_keys))
    while True:
        values = values * (1 + STEP_FRAC * chance.normal(size=num_keys))
        yield values.astype(np.float32).astype(np.float64)


def curve_rows(num_keys: int) -> Iterator[Row]:
    """Rows of them by key."""
    keys = names(num_keys)
    for values in curves(num_keys):
        yield dict(zip(keys, values.tolist(), strict=True))
