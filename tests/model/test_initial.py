"""`fanal/model/initial.py`: reproducible draws."""

import numpy as np
import pytest

from fanal.model.initial import truncated_normal


def test_the_first_values_of_a_leaf_are_these() -> None:
    found = truncated_normal("head", (3,), seed=0)
    assert found.tolist() == pytest.approx([-0.46632851252966023, -1.5014270612362333, -0.38321644200672594], rel=1e-12)


@pytest.mark.parametrize("changed", [{"name": "embedding"}, {"seed": 1}, {"layer": 1}])
def test_name_seed_and_layer_each_change_every_value(changed: dict) -> None:
    base = {"name": "head", "sizes": (100,), "seed": 0, "layer": 0}
    assert not (truncated_normal(**base) == truncated_normal(**(base | changed))).any()


def test_values_are_a_normal_cut_at_three() -> None:
    values = truncated_normal("head", (200_000,), seed=3)
    assert abs(values.mean()) < 0.01
    assert values.std() == pytest.approx(0.98658, abs=0.005)
    assert 2.99 < np.abs(values).max() <= 3.0
