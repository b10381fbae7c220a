"""The same id again, with the steps left to the tracker."""

import wandb

for lr in (0.1, 0.05):
    run = wandb.init(project="resume", id="auto-id", resume="allow", config={"lr": lr})
    for i in range(3):
        run.log({"loss": lr * i})
    print(run.step)
    run.finish()
