"""Class H of the pains, the schedule: where warm-up ends, what the total includes, which step carries the end value."""

import pytest

from fanal.campaign.schedule import lr_frac


def cosine(tokens: float, *, warmup: int, total: int) -> float:
    return lr_frac(tokens, total_tokens=total, warmup_tokens=warmup, final_frac=0.0, shape="cosine")


def test_h2_the_rate_does_not_drop_when_warm_up_ends() -> None:
    assert cosine(5, warmup=5, total=10) == 1.0  # a decay counted from step 0 gives 0.5


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_h2_the_schedule_is_continuous_at_every_joint(shape: str) -> None:
    step = 1e-9
    for joint in (5.0, 10.0):
        left, at, right = (
            lr_frac(t, total_tokens=10, warmup_tokens=5, final_frac=0.1, shape=shape)
            for t in (joint - step, joint, joint + step)
        )
        assert left == pytest.approx(at)
        assert right == pytest.approx(at)


def test_h3_the_total_includes_the_warm_up() -> None:
    assert cosine(550, warmup=100, total=1000) == pytest.approx(0.5)  # not 0.4218, not 0.5782
    assert cosine(1000, warmup=100, total=1000) == 0.0


def test_h3_the_last_step_carries_the_end_value_and_the_step_that_reaches_the_warm_up_the_peak() -> None:
    batch_tokens, num_steps = 4, 1000
    rates = [
        cosine((i + 1) * batch_tokens, warmup=100 * batch_tokens, total=num_steps * batch_tokens)
        for i in range(num_steps)
    ]
    assert rates[num_steps - 1] == 0.0  # N − 1, counted from 0
    assert rates[num_steps - 2] > 0.0
    assert rates[99] == 1.0 == max(rates)
    assert rates[98] < 1.0
    assert rates[100] < 1.0
    assert rates[0] == 0.01  # and the first step already moves
