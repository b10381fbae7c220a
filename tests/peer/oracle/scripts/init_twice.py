"""`init` again while a run is open, without a word on it: the open run goes on."""

import wandb

first = wandb.init(project="twice", config={"a": 1})
first.log({"loss": 1.0})
second = wandb.init(project="twice", config={"b": 2})
second.log({"loss": 2.0})
print(first is second, first.id == second.id, wandb.run is second)
wandb.finish()
