"""Values of Python's own kinds: paths, dates, enumerations, decimal numbers, fractions, sets, long text."""

import enum
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import wandb


class Phase(enum.Enum):
    WARMUP = "warmup"


run = wandb.init(project="objects")
values = {
    "path": PurePosixPath("/data"),
    "date": date(2026, 1, 2),
    "enum": Phase.WARMUP,
    "decimal": Decimal("0.1"),
    "fraction": Fraction(1, 3),
    "set": {1},
    "long": "x" * 5000,
}
for step, (name, value) in enumerate(values.items()):
    try:
        run.log({name: value}, step=step)
    except TypeError:
        print("refused:", name)
run.finish()
