"""Rows of random doubles, every one fresh, made without any library so that memory is what the tool takes."""

import random
from collections.abc import Iterator

Row = dict[str, float]


def names(num_keys: int) -> list[str]:
    """Keys as a trainer names them."""
    return [f"layer_{i // 20:03d}/grad_norm_{i % 20:02d}" for i in range(num_keys)]


def random_rows(num_keys: int) -> Iterator[Row]:
    """Random doubles: nothing to compress but their range."""
    draw = random.Random(0).random
    keys = names(num_keys)
    while True:
        yield {key: draw() for key in keys}
