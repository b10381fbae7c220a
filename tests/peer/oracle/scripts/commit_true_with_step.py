"""`commit=True` beside a step closes that step; the next call without a step goes to the one after it."""

import wandb

run = wandb.init(project="commit")
run.log({"a": 1}, step=10, commit=True)
run.log({"a": 2})
run.log({"b": 3}, step=20)
run.log({"b": 4})
run.log({"b": 5})
run.finish()
