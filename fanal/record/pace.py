"""What a step took, by width, where a record has measured it: the only source of minutes in a plan.

The median of the last half of each run's rows, so that a first step's warm-up and a pause do not count.
"""

from statistics import mean

import numpy as np

from fanal.record.metrics import TRAIN_STEP_SECONDS
from fanal.record.reading.read import Record, RunView


def seconds_per_step(record: Record) -> dict[int, float]:
    """Wall seconds of a training step by hidden width, over the runs of a campaign's record that have rows."""
    found: dict[int, list[float]] = {}
    for view in record.runs.values():
        if "hidden" in view.config and TRAIN_STEP_SECONDS in set(view.keys()):
            found.setdefault(int(view.config["hidden"]), []).append(_median(view))
    return {hidden: mean(seconds) for hidden, seconds in found.items()}


def _median(view: RunView) -> float:
    values = view.series(TRAIN_STEP_SECONDS).values
    return float(np.median(values[len(values) // 2 :]))
