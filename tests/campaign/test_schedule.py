import math

import jax.numpy as jnp
import numpy as np
import pytest

from fanal.campaign.schedule import lr_frac


def frac(
    tokens: float, *, warmup: float = 100, total: float = 1000, final: float = 0.05, shape: str = "linear"
) -> float:
    return lr_frac(tokens, total_tokens=total, warmup_tokens=warmup, final_frac=final, shape=shape)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, 0.01), (50, 0.5), (100, 1.0), (550, 0.525), (1000, 0.05), (1200, 0.05)]
)
def test_linear_up_to_one_and_linear_down_to_the_end_value(tokens: float, expected: float) -> None:
    assert frac(tokens) == pytest.approx(expected)


def test_without_warm_up_the_first_token_has_the_peak() -> None:
    assert frac(0, warmup=0) == 1.0
    assert frac(500, warmup=0, final=0) == 0.5


def test_a_run_that_is_all_warm_up_ends_at_the_peak() -> None:
    assert frac(100, warmup=100, total=100) == 1.0


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_the_rate_never_jumps(shape: str) -> None:
    values = np.array([frac(t, shape=shape) for t in range(1, 1001)])
    assert np.abs(np.diff(values)).max() <= 1 / 100 * (1 + 1e-9)  # the warm-up's own slope is the steepest


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_arrays_get_the_same_rates_as_floats(shape: str) -> None:
    tokens = np.arange(1, 1001)
    floats = np.array([frac(int(t), shape=shape) for t in tokens])
    as_array = lr_frac(tokens, total_tokens=1000, warmup_tokens=100, final_frac=0.05, shape=shape)
    assert np.array_equal(as_array, floats)
    on_device = lr_frac(
        jnp.asarray(tokens, jnp.float32), total_tokens=1000, warmup_tokens=100, final_frac=0.05, shape=shape, xp=jnp
    )
    rounding = 4 * float(np.finfo(np.float32).eps)  # of the peak: a few operations in 32 bits
    np.testing.assert_allclose(np.asarray(on_device), floats, rtol=0, atol=rounding)


def test_totals_beyond_32_bits_reach_arrays_of_32_bits() -> None:
    total = 18_005_144_633_344
    value = lr_frac(jnp.float32(total / 2), total_tokens=total, warmup_tokens=0, final_frac=0.0, xp=jnp)
    assert float(value) == 0.5


@pytest.mark.parametrize(("warmup", "total"), [(-1, 10), (11, 10)])
def test_a_warm_up_outside_the_run_is_refused(warmup: int, total: int) -> None:
    with pytest.raises(ValueError, match="warm-up must lie within the run's 10 tokens"):
        frac(1, warmup=warmup, total=total)


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="shape must be 'linear' or 'cosine', got 'step'"):
        frac(1, shape="step")


def test_cosine_is_the_half_wave() -> None:
    assert frac(325, shape="cosine", final=0) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))
