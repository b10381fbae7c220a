"""Which points of which writer count, on arrays alone; whole records are read in `test_stitching`."""

import math
import random

import numpy as np
import pytest

from fanal.record.reading.lineage import FIRST_OF_ALL, LAST_OF_ALL
from fanal.record.reading.series import Series, Stretch, edge_of, reduced, series_of, together
from fanal.record.reading.writer_view import Piece

EVERYTHING = Stretch(1, FIRST_OF_ALL, LAST_OF_ALL, by_time=False)
Point = tuple[int, int, int, float]
"""Writer, sequence, step, value."""


def piece(steps: list[int], first_sequence: int, reads: list[int] | None = None) -> Piece:
    """Points of one writer whose value is the sequence number; `reads` counts how often values are read."""

    def values() -> np.ndarray:
        if reads is not None:
            reads.append(first_sequence)
        return sequences.astype(np.float64)

    at = np.array(steps, np.int64)
    sequences = np.arange(first_sequence, first_sequence + len(steps), dtype=np.int64)
    return Piece(at, sequences * 10, sequences, values, bool((np.diff(at) > 0).all()), None)


def found(series: Series | None) -> list[Point]:
    assert series is not None
    columns = (series.writers, series.sequences, series.steps, series.values)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_random_pieces_of_several_writers_equal_brute_force() -> None:
    chance = random.Random(7)
    for _ in range(300):
        pieces: list[tuple[int, Piece]] = []
        for writer in range(chance.randint(1, 3)):
            sequence = 1
            for _ in range(chance.randint(1, 3)):
                steps = [chance.randint(0, 12) for _ in range(chance.randint(1, 6))]
                steps = sorted(set(steps)) if chance.random() < 0.6 else steps
                pieces.append((writer, piece(steps, sequence)))
                sequence += len(steps)
        low, high = sorted((chance.randint(0, 13), chance.randint(0, 13)))
        last: dict[tuple[int, int], Point] = {}
        for writer, part in pieces:
            for step, sequence in zip(part.steps.tolist(), part.sequences.tolist(), strict=True):
                last[step, writer] = (writer, sequence, step, float(sequence))
        series = series_of(pieces, Stretch(1, low, high, by_time=False))
        assert series is not None
        assert found(series) == [last[where] for where in sorted(last) if low <= where[0] < high]
        assert len(series) + series.num_superseded == len(last)
        assert series.num_overwritten == sum(len(part.steps) for _, part in pieces) - len(last)
        for newest in (True, False):
            edge = edge_of(pieces, Stretch(1, low, high, by_time=False), newest)
            assert (edge is None) == (len(series) == 0)
            if edge is not None:
                assert (edge.writer, edge.sequence) == found(series)[-1 if newest else 0][:2]


def test_values_of_pieces_that_show_nothing_are_not_read() -> None:
    reads: list[int] = []
    pieces = [(0, piece([0, 1, 2], 1, reads)), (0, piece([3, 4, 5], 4, reads))]
    series = series_of(pieces, Stretch(1, 3, 5, by_time=False))
    assert found(series) == [(0, 4, 3, 4.0), (0, 5, 4, 5.0)]
    assert reads == [4]


def test_the_highest_step_there_is_counts() -> None:
    series = series_of([(0, piece([0, (1 << 63) - 1], 1))], EVERYTHING)
    assert series is not None
    assert series.steps.tolist() == [0, (1 << 63) - 1]


def test_no_pieces_are_no_series_and_no_parts_an_empty_one() -> None:
    assert series_of([], EVERYTHING) is None
    assert len(together([])) == 0


def two_writers(values: list[float]) -> Series:
    pieces = [(writer, piece([0], 1)) for writer in range(len(values))]
    series = series_of(pieces, EVERYTHING)
    assert series is not None
    series.values[:] = values
    return series


@pytest.mark.parametrize(
    ("how", "values", "wanted"),
    [
        ("mean", [0.1, 0.2, 0.3], (0.1 + 0.2 + 0.3) / 3),
        ("mean", [math.inf, -math.inf], math.nan),
        ("max", [-1.0, -math.inf, math.nan], math.nan),
        ("max", [-1.0, -math.inf], -1.0),
        ("same", [math.nan, math.nan], math.nan),
        ("same", [0.0, -0.0], 0.0),
        ("same", [math.inf, math.inf], math.inf),
    ],
)
def test_a_reduction_is_what_it_says_down_to_the_bits(how: str, values: list[float], wanted: float) -> None:
    (value,) = reduced("x", two_writers(values), how).values.tolist()
    assert value == wanted or (math.isnan(value) and math.isnan(wanted))
