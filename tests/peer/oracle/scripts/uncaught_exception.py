"""A script that dies of an exception with its run open."""

import wandb

run = wandb.init(project="outcome", config={"lr": 10.0})
for step in range(3):
    run.log({"loss": 1.0 * 10**step})
raise FloatingPointError("the loss grows")
