"""Metrics in nested dictionaries, and keys that hold dots and slashes themselves."""

import wandb

run = wandb.init(project="nested")
for i in range(4):
    run.log({"train": {"loss": 1.0 / (i + 1), "norm": {"grad": i * 0.5, "weight": 3.0}}, "lr": 1e-3})
    run.log({"a/b": i, "a.b": i + 0.5, "a": {"c": i + 0.25}})
run.finish()
