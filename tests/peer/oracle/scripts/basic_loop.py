"""The loop of every first tutorial: a run, a config, a metric or two a step, no step given."""

import wandb

wandb.init(project="tutorial", config={"learning_rate": 0.02, "architecture": "CNN", "epochs": 10})
for epoch in range(2, 10):
    acc = 1 - 2**-epoch - 0.01
    loss = 2**-epoch + 0.01
    wandb.log({"acc": acc, "loss": loss})
wandb.finish()
