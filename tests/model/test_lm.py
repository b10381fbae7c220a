"""`fanal/model/lm.py`: sizes, initial values, losses, layers."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.campaign import count
from fanal.model.lm import LanguageModel, abstract_model, init_model, token_losses
from fanal.model.names import named
from tests.tolerances import EXACT, REASSOCIATED, assert_close
from tests.worlds.model import NO_BIAS, QUICK, SHAPE, forward, quiet_model, small_batch

CLOSE = REASSOCIATED["float32"]


@pytest.mark.parametrize("num_layers", [1, 3])
def test_parameters_are_as_many_as_the_formula_says(num_layers: int) -> None:
    shape = replace(SHAPE, num_layers=num_layers, num_shared_experts=1)
    leaves = named(abstract_model(shape)).values()
    assert sum(leaf.size for leaf in leaves) == count.params_total(shape)
    assert sum(leaf.size for name, leaf in named(abstract_model(shape)).items() if not name.endswith("norm")) == (
        count.params_matrices(shape)
    )


def test_initial_values_depend_on_the_seed_and_not_on_the_number_of_layers() -> None:
    two, three = (named(init_model(replace(SHAPE, num_layers=n), seed=1)) for n in (2, 3))
    for name, leaf in two.items():
        deeper = three[name][:2] if name.startswith("layers/") else three[name]
        assert_close(leaf, deeper, EXACT, name)
    other = named(init_model(SHAPE, seed=2))
    assert not np.array_equal(two["head"], other["head"])
    assert not np.array_equal(two["layers/attention/q"][0], two["layers/attention/q"][1])


def test_initial_values_have_the_deviation_of_the_shape_and_norms_are_one() -> None:
    wide = replace(SHAPE, hidden=256, vocab=512)
    for name, leaf in named(init_model(wide, seed=0)).items():
        if name.endswith("norm"):
            assert (leaf == 1).all(), name
        elif leaf.size > 5000:
            deviation = wide.init_scale / np.sqrt(wide.hidden)
            assert float(leaf.std()) == pytest.approx(0.9866 * deviation, rel=0.05), name
            assert float(jnp.abs(leaf).max()) <= 3 * deviation * (1 + 1e-6), name


def test_abstract_and_real_models_have_the_same_names_shapes_and_dtypes() -> None:
    real = init_model(SHAPE, seed=0)
    assert jax.eval_shape(lambda: real) == abstract_model(SHAPE)


def test_losses_are_cross_entropies_in_nats_and_log_normalisers() -> None:
    logits = jnp.log(jnp.array([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]])) + 3.0
    losses, log_norms = token_losses(logits, jnp.array([[0, 2]], jnp.int32))
    assert_close(losses, -np.log([[0.5, 0.7]]), CLOSE)
    assert_close(log_norms, np.array([[3.0, 3.0]]), CLOSE)


def test_losses_of_huge_logits_are_finite() -> None:
    losses, _ = token_losses(jnp.array([[[1e4, -1e4, 0.0]]]), jnp.array([[1]], jnp.int32))
    assert float(losses[0, 0]) == 2e4


def test_scanned_and_unrolled_layers_are_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, model = small_batch(), quiet_model()
    unrolled = jax.jit(lambda: forward(model, batch, NO_BIAS)[0], compiler_options=QUICK)()
    monkeypatch.setattr("fanal.model.lm.UNROLLED_LAYERS", 0)
    scanned = jax.jit(lambda: forward(model, batch, NO_BIAS)[0], compiler_options=QUICK)()
    assert_close(scanned, unrolled, CLOSE)


def test_every_leaf_takes_part_in_the_logits() -> None:
    batch, model = small_batch(), quiet_model()

    @partial(jax.jit, compiler_options=QUICK)
    def gradient(model: LanguageModel) -> LanguageModel:
        return jax.grad(lambda m: jnp.sum(jnp.square(forward(m, batch, NO_BIAS)[0])))(model)

    for name, leaf in named(gradient(model)).items():
        assert leaf.any(), name
