"""Everything called on a run that is switched off: nothing is written, nothing fails."""

import wandb

run = wandb.init(project="off", mode="disabled", config={"lr": 0.1})
for i in range(3):
    run.log({"loss": i})
run.summary["best"] = 0
run.define_metric("loss", summary="min")
run.alert("title", "text")
print(run.config.lr, run.disabled, wandb.run is not None)
run.finish()
