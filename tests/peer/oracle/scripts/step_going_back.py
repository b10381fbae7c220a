"""A trainer that goes back after a spike: steps 5 to 7 come again with other values."""

import wandb

run = wandb.init(project="rewind")
for step in range(8):
    run.log({"loss": 10.0 - step}, step=step)
for step in range(5, 10):
    run.log({"loss": 5.0 - step / 10}, step=step)
run.finish()
