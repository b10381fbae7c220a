"""Histograms have counts, edges and what is in no bin, equal to those of NumPy."""

import math

import numpy as np
import pytest

import fanal
from fanal.tracker import histogram
from tests.tracker.conftest import logged


def test_histograms_have_counts_edges_and_what_is_in_no_bin() -> None:
    samples = [0.0, 0.25, 0.5, 1.0, math.nan, math.inf]
    found = logged(fanal.Histogram(samples, num_bins=4))
    assert found == {
        "$media": "histogram",
        "counts": [1, 1, 1, 1],
        "edges": [0.0, 0.25, 0.5, 0.75, 1.0],
        "nonfinite": 2,
    }


def test_python_bins_as_numpy_does() -> None:
    samples = (np.random.default_rng(0).normal(size=500) ** 3).tolist()
    counts, edges, nonfinite = histogram.binned_in_python(samples, 16)
    wanted_counts, wanted_edges = np.histogram(samples, bins=16)
    assert counts == wanted_counts.tolist()
    assert np.allclose(edges, wanted_edges, rtol=1e-15)
    assert nonfinite == 0
    assert fanal.Histogram([3.0, 3.0]).bins[0] == 2.5
    assert fanal.Histogram([]).histogram == [0] * 64


def test_a_given_histogram_is_kept_and_a_wrong_one_refused() -> None:
    found = logged(fanal.Histogram(np_histogram=np.histogram([1, 2, 2, 9], bins=2)))
    assert (found["counts"], found["edges"]) == ([3, 1], [1.0, 5.0, 9.0])
    with pytest.raises(fanal.UsageError, match="one edge more"):
        fanal.Histogram(np_histogram=([1, 2], [0, 1]))
    with pytest.raises(fanal.UsageError, match="numbers, or"):
        fanal.Histogram()
