"""Name and notes set after the start."""

import wandb

run = wandb.init(project="labels", name="before", tags=("a",))
run.name = "after"
run.notes = "found later"
run.log({"loss": 1.0})
print(run.name, run.notes)
run.finish()
