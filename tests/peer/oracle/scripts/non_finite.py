"""NaN and infinities, at the start, inside and at the end of a series."""

import math

import wandb

run = wandb.init(project="nonfinite")
for value in (math.nan, 1.0, math.inf, -math.inf, 0.5, -0.0, math.nan):
    run.log({"loss": value, "steady": 1.0})
run.finish()
