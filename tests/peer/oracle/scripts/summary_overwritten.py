"""A summary key set by hand and then logged: the later one stands."""

import wandb

run = wandb.init(project="summary")
run.summary["loss"] = 100.0
run.log({"loss": 1.0})
run.log({"loss": 0.5})
run.summary["steps"] = 2
run.log({"steps": 3})
run.finish()
