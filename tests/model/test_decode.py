"""`fanal/model/decode.py`: a token at a time, the same model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fanal.model.decode import Sampling, continue_prompt, empty_cache, next_logits
from fanal.train.loss import StepBatch
from tests.tolerances import REASSOCIATED, assert_close
from tests.worlds.model import NO_BIAS, QUICK, logits_of, quiet_model

PROMPT = [5, 9, 2, 17, 30, 8, 1, 12, 12, 3]
WHOLE = Sampling(stop_token=None)
BIAS = NO_BIAS + np.linspace(-0.5, 0.5, 8, dtype=np.float32)


def whole_logits(ids: list[int]) -> np.ndarray:
    """Logits at every position of a document, from one pass over it."""
    padded = jnp.array([ids + [0] * (14 - len(ids))], jnp.int32)
    valid = jnp.arange(14)[None] < len(ids)
    batch = StepBatch(padded, padded, jnp.zeros_like(padded), jnp.arange(14)[None], valid, valid)
    return np.asarray(logits_of(quiet_model(), batch, BIAS, 14)[0, : len(ids)])


def follow(num_tokens: int, sampling: Sampling = WHOLE) -> list[int]:
    return continue_prompt(quiet_model(), jnp.asarray(BIAS), PROMPT, num_tokens, sampling, buffer_tokens=24)


def test_logits_one_token_at_a_time_are_those_of_the_whole_sequence() -> None:
    model = quiet_model()
    whole = whole_logits(PROMPT)
    one, cache = jax.jit(next_logits, compiler_options=QUICK), empty_cache(model, 16)
    for position, token in enumerate(PROMPT):
        logits, cache = one(model, BIAS, jnp.int32(token), jnp.int32(position), cache)
        assert_close(logits, whole[position], REASSOCIATED["float32"], f"position {position}")


def test_greedy_takes_the_likeliest_token_each_time() -> None:
    ids = list(PROMPT)
    for _ in range(4):
        ids.append(int(whole_logits(ids)[-1].argmax()))
    assert follow(4) == ids[len(PROMPT) :]


def test_draws_follow_the_seed_and_the_temperature() -> None:
    hot = Sampling(temperature=5.0, seed=1, stop_token=None)
    assert follow(12, hot) == follow(12, hot)
    assert follow(12, hot) != follow(12, Sampling(temperature=5.0, seed=2, stop_token=None))
    assert follow(12, Sampling(temperature=1e-4, seed=3, stop_token=None)) == follow(12)


def test_a_continuation_ends_before_the_stop_token() -> None:
    whole = follow(12)
    stop = whole[5]
    assert follow(12, Sampling(stop_token=stop)) == whole[: whole.index(stop)]


@pytest.mark.parametrize(("prompt", "num_tokens"), [([], 4), ([1] * 20, 5)])
def test_what_does_not_fit_the_buffer_is_refused(prompt: list[int], num_tokens: int) -> None:
    with pytest.raises(ValueError, match="must be 1 to 24 tokens"):
        continue_prompt(quiet_model(), jnp.asarray(BIAS), prompt, num_tokens, buffer_tokens=24)


def test_a_continuation_may_fill_the_buffer_to_its_end() -> None:
    assert len(follow(14)) == 14
