"""The same id again in the same process: the script goes on where it stopped, with explicit steps."""

import wandb

run = wandb.init(project="resume", id="fixed-id", config={"lr": 0.1})
for step in range(5):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
run.finish()
run = wandb.init(project="resume", id="fixed-id", resume="allow", config={"lr": 0.05})
for step in range(5, 8):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
run.finish()
