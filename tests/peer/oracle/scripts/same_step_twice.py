"""The same step logged again: keys join, a key given twice has its last value, a NaN is replaced by the number."""

import wandb

run = wandb.init(project="same")
run.log({"a": float("nan"), "b": 1}, step=5)
run.log({"a": 2.0}, step=5)
run.log({"c": 3}, step=5)
run.log({"a": 7.0}, step=6)
run.finish()
