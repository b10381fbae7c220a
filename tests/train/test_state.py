"""`fanal/train/state.py`: everything a training carries, by name."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.errors import CheckpointError
from fanal.train.state import init_state, named_leaves, with_leaves
from tests.tolerances import EXACT, assert_close
from tests.worlds.model import SHAPE, lively_state, small_run

RUN = small_run()


def test_a_first_state_has_drawn_nothing_and_remembers_nothing() -> None:
    state = init_state(RUN)
    assert [int(x) for x in (state.position, state.step, state.updates, state.guard.accepted)] == [0, 0, 0, 0]
    assert not any(leaf.any() for leaf in jax.tree.leaves((state.moments, state.router_bias_LE, state.guard)))


def test_seeds_differ_and_the_runs_name_does_not_matter() -> None:
    base = named_leaves(init_state(RUN))
    for name, leaf in named_leaves(init_state(replace(RUN, run="hero", role="hero"))).items():
        assert_close(leaf, base[name], EXACT, name)
    other = init_state(replace(RUN, seed=1))
    assert not np.array_equal(other.model.head, base["model/head"])


def test_every_leaf_is_an_array_with_a_name_of_its_own() -> None:
    leaves = named_leaves(init_state(RUN))
    assert all(isinstance(leaf, jax.Array) for leaf in leaves.values())
    assert {
        *("model/embedding", "model/layers/experts/gate", "moments/first/layers/attention/q", "moments/second/head"),
        *("router_bias_LE", "position", "step", "updates", "guard/losses_X", "guard/accepted"),
    } <= set(leaves)


def test_a_state_goes_through_its_names_and_back_bitwise() -> None:
    state = lively_state(RUN)
    back = with_leaves(init_state(RUN), {name: np.asarray(leaf) for name, leaf in named_leaves(state).items()})
    for name, leaf in named_leaves(back).items():
        assert_close(leaf, named_leaves(state)[name], EXACT, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model/head": None}, r"lacks \['model/head'\] and has none besides"),
        ({"model/tail": jnp.zeros(1)}, r"lacks no leaf and has \['model/tail'\] besides"),
        ({"model/head": jnp.zeros((16, 8))}, r"'model/head' is float32\[16, 32\] in the state and float32\[16, 8\]"),
        ({"step": jnp.float32(0)}, r"'step' is int32\[\] in the state and float32\[\] in the checkpoint"),
    ],
)
def test_a_leaf_of_another_name_shape_or_dtype_is_refused(change: dict, message: str) -> None:
    state = init_state(RUN)
    leaves = {name: leaf for name, leaf in (named_leaves(state) | change).items() if leaf is not None}
    with pytest.raises(CheckpointError, match=message):
        with_leaves(state, leaves)


def test_float64_states_hold_the_same_draws_unrounded() -> None:
    with jax.enable_x64(True):
        state = init_state(RUN, jnp.dtype("float64"))
        assert state.position.dtype == jnp.int64
        assert state.router_bias_LE.dtype == state.guard.losses_X.dtype == jnp.float64
        head = np.asarray(state.model.head)
    assert head.shape == (SHAPE.hidden, SHAPE.vocab)
    assert_close(head.astype(np.float32), init_state(RUN).model.head, EXACT)
