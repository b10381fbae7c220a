"""The learning rate over a run: one function of the tokens drawn, the same on Python floats and on arrays.

The rate is a fraction of each optimizer's peak. It rises linearly from nothing to 1 at `warmup_tokens` and falls
to `final_frac` at `total_tokens`; the total includes the warm-up, so nothing jumps where the two meet. `tokens`
counts everything drawn up to and including the step's own batch: step i (from 0) passes (i + 1) · batch tokens,
the step that reaches `warmup_tokens` carries the peak, and the last step, N − 1, carries the end value. It costs a
few scalar operations and has no state: accumulation and the number of devices cannot change it.
"""

import math
from typing import Any

import numpy as np


def lr_frac(
    tokens: Any,
    *,
    total_tokens: float,
    warmup_tokens: float,
    final_frac: float,
    shape: str = "linear",
    xp: Any = np,
) -> Any:
    """The rate over its peak when `tokens` have been drawn; `xp` is `numpy` or `jax.numpy`.

    Raises:
        ValueError: an unknown `shape`, or a warm-up that does not lie within the run.
    """
    if shape not in ("linear", "cosine"):
        raise ValueError(f"shape must be 'linear' or 'cosine', got {shape!r}")
    if not 0 <= warmup_tokens <= total_tokens:
        raise ValueError(f"warm-up must lie within the run's {total_tokens} tokens, got {warmup_tokens}")
    warmup, decay = float(warmup_tokens), float(total_tokens - warmup_tokens)
    rise = xp.minimum(tokens / warmup, 1.0) if warmup else 1.0
    done = xp.clip((tokens - warmup) / decay, 0.0, 1.0) if decay else 0.0
    left = 1.0 - done if shape == "linear" else 0.5 * (1.0 + xp.cos(math.pi * done))
    return rise * (final_frac + (1.0 - final_frac) * left)
