"""Calls before there is a run, and after it has ended."""

import wandb

print(wandb.run)
try:
    wandb.log({"loss": 1.0})
except wandb.Error:
    print("refused")
run = wandb.init(project="late")
run.log({"loss": 1.0})
run.finish()
try:
    run.log({"loss": 2.0})
    print("taken")
except wandb.Error:
    print("refused")
print(wandb.run)
