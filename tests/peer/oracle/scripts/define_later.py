"""A metric defined after some of its values were logged."""

import wandb

run = wandb.init(project="later")
for value in (5.0, 1.0):
    run.log({"loss": value, "accuracy": value})
run.define_metric("loss", summary="min")
run.define_metric("acc*", summary="max")
for value in (3.0, 4.0):
    run.log({"loss": value, "accuracy": value})
run.finish()
