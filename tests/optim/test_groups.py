"""`fanal/optim/groups.py`: every leaf has one optimizer, decided by its name."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.lm import abstract_model
from fanal.model.names import leaf_names, named
from fanal.optim.groups import GROUPS, group_of, init_moments, update_all
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import OPTIMIZER, QUICK, SHAPE, quiet_model

CLOSE = REASSOCIATED["float32"]
Leaves = dict[str, jax.Array]


@partial(jax.jit, compiler_options=QUICK)
def half_rate_update(params: Leaves, grads: Leaves) -> Leaves:
    """The first update, at half the peak rates."""
    return update_all(params, grads, init_moments(params), jnp.int32(0), jnp.float32(0.5), OPTIMIZER)[0]


@cache
def updated(zeroed: str = "") -> tuple[Leaves, Leaves]:
    """Leaves before and after one update with random gradients, those of `zeroed` zero."""
    params = named(quiet_model())
    rng = np.random.default_rng(0)
    grads = {n: jnp.asarray(rng.normal(size=p.shape), jnp.float32) * float(n != zeroed) for n, p in params.items()}
    return params, half_rate_update(params, grads)


def test_every_leaf_of_the_model_belongs_to_one_group() -> None:
    groups = {name: group_of(name) for name in named(abstract_model(SHAPE))}
    assert set(groups.values()) == set(GROUPS)
    assert [name for name, group in groups.items() if group == "adamh"] == ["head"]
    adam = [name.rpartition("/")[2] for name, group in groups.items() if group == "adam"]
    assert sorted(adam) == sorted(
        ["embedding", "embedding_norm", "attention_norm", "mlp_norm", "router", "norm", "final_norm"]
    )


def test_stacked_and_single_leaves_belong_to_the_same_groups() -> None:
    stacked = {group_of(name) + name.rpartition("/")[2] for name in named(abstract_model(SHAPE))}
    single = {group_of(n) + n.partition("/e0")[0].rpartition("/")[2] for n in leaf_names(abstract_model(SHAPE))}
    assert single == stacked


@pytest.mark.parametrize("name", ["layers/bias", "tail", "attention/q"])
def test_an_unknown_leaf_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' belongs to no optimizer group"):
        group_of(name)


def test_adam_keeps_two_moments_and_muonh_one() -> None:
    moments = jax.eval_shape(init_moments, named(quiet_model()))
    assert set(moments.first) == set(named(quiet_model()))
    assert set(moments.second) == {name for name in moments.first if group_of(name) != "muonh"}


def test_matrices_keep_their_norms_by_expert_and_the_rest_moves_by_adams_rate() -> None:
    before, after = updated()
    for name, leaf in before.items():
        if group_of(name) == "adam":
            assert_close(jnp.abs(after[name] - leaf), np.full(leaf.shape, 0.005), REASSOCIATED["float32"], name)
        else:
            square = [np.square(np.asarray(x, np.float64)).sum((-2, -1)) for x in (after[name], leaf)]
            assert_close(*square, CLOSE, name)


def test_each_expert_moves_by_the_rate_of_its_own_norm() -> None:
    before, after = updated()
    moved = np.linalg.norm(np.asarray(after["layers/experts/up"] - before["layers/experts/up"]), axis=(-2, -1))
    norms = np.linalg.norm(np.asarray(before["layers/experts/up"]), axis=(-2, -1))
    step = 0.5 * OPTIMIZER.muonh_lr
    assert (np.abs(moved / norms / step - 1) < step).all()


@pytest.mark.parametrize("name", ["head", "layers/experts/gate", "layers/attention/o", "layers/router"])
def test_a_leaf_without_gradient_and_momentum_stays_bitwise(name: str) -> None:
    before, after = updated(name)
    assert_close(after[name], before[name], EXACT)


def test_the_rate_is_the_groups_own() -> None:
    params = {"head": quiet_model().head, "final_norm": quiet_model().final_norm}
    plan = replace(OPTIMIZER, adam_lr=0.0)
    grads = {name: jnp.ones_like(leaf) for name, leaf in params.items()}
    new, _ = update_all(params, grads, init_moments(params), jnp.int32(0), jnp.float32(1.0), plan)
    assert_close(new["final_norm"], params["final_norm"], EXACT)
    assert not np.array_equal(new["head"], params["head"])
