"""A run that the script itself calls failed, and one that ends with the process."""

import wandb

run = wandb.init(project="outcome", name="failed")
run.log({"loss": 1.0})
run.finish(exit_code=1)
wandb.init(project="outcome", name="left open")
wandb.log({"loss": 2.0})
