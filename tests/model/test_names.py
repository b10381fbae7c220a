"""`fanal/model/names.py`: names and norms in one order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.lm import abstract_model
from fanal.model.names import leaf_names, leaf_norm2, named, router_bias_names, scaled_norm2, with_named
from tests.tolerances import REASSOCIATED, assert_close
from tests.worlds.model import SHAPE, quiet_model


def test_names_are_those_of_layers_experts_and_single_leaves() -> None:
    names = leaf_names(abstract_model(SHAPE))
    wanted = {
        *("embedding", "embedding_norm", "final_norm", "head"),
        *("layer0/attention_norm", "layer1/attention/q", "layer0/mlp_norm", "layer1/router"),
        *("layer0/latent/down", "layer0/latent/norm", "layer1/latent/up", "layer0/shared/gate"),
        *("layer0/experts/gate/e000", "layer1/experts/down/e007"),
    }
    assert wanted <= set(names)
    assert len(names) == len(set(names)) == 4 + 2 * (13 + 3 * 8)
    assert router_bias_names(2) == ["layer0/router_bias", "layer1/router_bias"]


def test_norms_stand_in_the_order_of_names() -> None:
    model = quiet_model()
    norms = jax.jit(lambda: leaf_norm2(named(model)))()
    found = dict(zip(leaf_names(model), norms.tolist(), strict=True))
    for name, value in {
        "head": model.head,
        "layer1/attention/k": model.layers.attention.k[1],
        "layer0/experts/up/e003": model.layers.experts.up[0, 3],
        "layer1/latent/norm": model.layers.latent.norm[1],
    }.items():
        assert found[name] == pytest.approx(float(np.square(value).sum()), rel=1e-5)


def test_the_groups_squared_norms_add_up_to_the_whole() -> None:
    leaves = named(quiet_model())
    whole = sum(float(np.square(np.asarray(leaf, np.float64)).sum()) for leaf in leaves.values())
    norms = jax.jit(leaf_norm2)(leaves)
    assert_close(np.asarray(norms, np.float64).sum(), whole, REASSOCIATED["float32"])


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e20])
def test_scaled_norms_hold_numbers_whose_square_float32_does_not(size: float) -> None:
    scale, norm2 = scaled_norm2({"embedding": jnp.array([3.0, -4.0]) * size, "head": jnp.array([[0.0]])})
    assert float(scale) * float(norm2.sum()) ** 0.5 == pytest.approx(5 * size, rel=1e-6)


def test_scaled_norms_of_zeros_are_zero() -> None:
    scale, norm2 = scaled_norm2({"head": jnp.zeros((2, 2))})
    assert (float(scale), norm2.tolist()) == (1.0, [0.0])


def test_leaves_go_back_to_their_places() -> None:
    model = quiet_model()
    doubled = with_named(model, {name: 2 * leaf for name, leaf in named(model).items()})
    assert jnp.array_equal(doubled.layers.experts.gate, 2 * model.layers.experts.gate)
    with pytest.raises(AssertionError, match=r"names differ.*head"):
        with_named(model, {name: leaf for name, leaf in named(model).items() if name != "head"})
