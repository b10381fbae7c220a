"""The first losses of the firefly, at full precision: data order, initial values, model, optimizers in one text."""

from collections.abc import Iterator
from pathlib import Path

import fanal as library
from tests.worlds.firefly import Finished, fanal

STEPS = 5
"""Later ones drift apart between processors, by far more than rounding."""
RUNS = ("d16", "d16-s1", "hero")


def run_firefly(cwd: Path) -> Finished:
    """The firefly campaign, run in a folder of its own."""
    done = fanal("run", "firefly", "--quiet", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return Finished(cwd / "runs" / "firefly", done.stdout)


def loss_lines(finished: Finished) -> Iterator[str]:
    """`<run> <step> <loss>` of the first steps."""
    for name in RUNS:
        series = library.open(finished.folder).runs[name].series("train/loss")
        for step, value in list(zip(series.steps.tolist(), series.values.tolist(), strict=True))[:STEPS]:
            yield f"{name} {step} {value!r}"
