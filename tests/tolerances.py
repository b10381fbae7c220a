"""How close is equal: three tolerances, each with its source. No test types one of its own.

`EXACT` is for integers, data order, and the same program on the same machine. `REASSOCIATED` is for the same
mathematics with sums taken in another order. `LOW_PRECISION` is for work in bfloat16 against float32.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Tolerance:
    """Relative to the value, and absolute relative to the array's largest value."""

    relative: float
    of_largest: float


EXACT = Tolerance(0.0, 0.0)
"""Bit for bit."""

REASSOCIATED = {"float64": Tolerance(1e-9, 1e-9), "float32": Tolerance(1e-5, 2e-6)}
"""n terms in another order differ by √n·ε in the mean, ε = 1.1e-16 and 6e-8 (Higham 2002, §4.2); some hundred
operations deep and a few thousand terms wide, with a margin of ten."""

LOW_PRECISION = Tolerance(2e-2, 2e-2)
"""bfloat16 keeps 8 bits: ε = 3.9e-3, a few roundings."""


def assert_close(found: ArrayLike, expected: ArrayLike, tolerance: Tolerance, what: str = "") -> None:
    """Same shape, and every value within the tolerance; NaN equals NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if tolerance == EXACT:
        assert found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}"
        assert found.tobytes() == expected.tobytes(), f"{what}: not bitwise equal, {_worst(found, expected)}"
        return
    largest = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    close = np.allclose(found, expected, tolerance.relative, tolerance.of_largest * largest, equal_nan=True)
    assert close, f"{what}: {_worst(found, expected)}"


def reassociated(dtype: object) -> Tolerance:
    """The tolerance of reassociation in a dtype."""
    return REASSOCIATED[np.dtype(dtype).name]  # pyright: ignore[reportArgumentType]


def _worst(found: np.ndarray, expected: np.ndarray) -> str:
    if found.size == 0:
        return "empty"
    gap = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    place = np.unravel_index(np.nanargmax(gap) if np.isfinite(gap).any() else 0, gap.shape)
    return f"largest difference {gap[place]:.3g}: {found[place]!r}, expected {expected[place]!r}"
