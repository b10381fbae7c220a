"""Class H: masks by name, the scale of a stored matrix, experts apart, norms apart."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.optim.groups import group_of
from fanal.optim.hyperball import fixed_norm_step, frobenius
from fanal.optim.muon import EXACT_QUINTIC, muon_scale, orthogonalise
from tests.tolerances import EXACT, assert_close
from tests.worlds.model import QUICK

exactly = jax.jit(partial(orthogonalise, steps=30, coefficients=EXACT_QUINTIC), compiler_options=QUICK)


def made(*sizes: int) -> jnp.ndarray:
    return jnp.asarray(np.random.default_rng(5).normal(size=sizes), jnp.float32)


@pytest.mark.parametrize(
    ("stacked", "single", "group"),
    [
        ("layers/attention_norm", "layer0/attention_norm", "adam"),  # (L, d), as many axes as a matrix
        ("layers/latent/norm", "layer1/latent/norm", "adam"),
        ("layers/router", "layer1/router", "adam"),
        ("layers/attention/q", "layer0/attention/q", "muonh"),  # (L, d, d)
        ("layers/experts/up", "layer0/experts/up/e003", "muonh"),
    ],
)
def test_h4_stacking_changes_no_leafs_group(stacked: str, single: str, group: str) -> None:
    assert group_of(stacked) == group_of(single) == group


def test_h5_the_scale_knows_the_output_axis() -> None:
    stored = made(4, 16)  # (in, out)
    assert muon_scale(*stored.shape) == 2.0
    assert muon_scale(*stored.T.shape) == 1.0


def test_h5_an_orthogonal_update_has_the_right_size() -> None:
    update = exactly(made(16, 4))
    rms = float(jnp.sqrt(jnp.mean(update**2)))
    assert rms == pytest.approx(0.25, rel=1e-5)
    assert 0.2 * np.sqrt(16) * rms == pytest.approx(0.2, rel=1e-5)


def test_h7_each_expert_is_orthogonalised_alone() -> None:
    experts = made(2, 4, 4)
    apart = jnp.sqrt(jnp.sum(exactly(experts) ** 2, axis=(1, 2)))
    assert apart.tolist() == pytest.approx([2.0, 2.0], rel=1e-5)
    together = exactly(experts.reshape(8, 4)).reshape(2, 4, 4)
    norms = jnp.sqrt(jnp.sum(together**2, axis=(1, 2)))
    assert (norms < 1.9).all()
    assert float(jnp.sum(norms**2)) == pytest.approx(4.0, rel=1e-5)


@pytest.mark.parametrize("layers", [(), (1,)])
def test_h8_each_expert_keeps_its_own_norm(layers: tuple[int, ...]) -> None:
    direction = made(2, 4, 4).at[1].set(0.0).reshape(*layers, 2, 4, 4)
    experts = made(2, 4, 4)
    experts = experts / frobenius(experts) * jnp.array([3.0, 4.0]).reshape(2, 1, 1)
    experts = experts.reshape(*layers, 2, 4, 4)
    moved = fixed_norm_step(experts, direction, jnp.float32(0.1))
    assert frobenius(moved).ravel().tolist() == pytest.approx([3.0, 4.0], rel=1e-6)
    assert_close(moved[..., 1, :, :], experts[..., 1, :, :], EXACT)
    assert not np.array_equal(moved[..., 0, :, :], experts[..., 0, :, :])
