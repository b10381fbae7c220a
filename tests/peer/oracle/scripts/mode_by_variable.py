"""WANDB_MODE=disabled from outside switches a script off that knows nothing of it."""

import os

os.environ["WANDB_MODE"] = "disabled"

import wandb

wandb.init(project="off", config={"lr": 0.1})
wandb.log({"loss": 1.0})
print(wandb.run.disabled, wandb.config.lr)
wandb.finish()
