"""Metrics with an axis of their own, by glob, and hidden ones."""

import wandb

run = wandb.init(project="axes")
run.define_metric("epoch", hidden=True)
run.define_metric("train/step")
run.define_metric("train/*", step_metric="train/step")
run.define_metric("val/*", step_metric="epoch", summary="min")
for epoch in range(3):
    for batch in range(4):
        run.log({"train/step": epoch * 4 + batch, "train/loss": 1 / (1 + epoch * 4 + batch)})
    run.log({"epoch": epoch, "val/loss": 0.5 / (epoch + 1)})
run.finish()
