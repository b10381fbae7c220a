"""What stands for each metric in the summary: min, max, mean, last, several, none."""

import wandb

run = wandb.init(project="defined")
run.define_metric("low", summary="min")
run.define_metric("high", summary="max")
run.define_metric("average", summary="mean")
run.define_metric("final", summary="last")
run.define_metric("both", summary="min,max")
run.define_metric("absent", summary="none")
run.define_metric("eval/*", summary="max")
for value in (3.0, 1.0, 4.0, 1.5, 9.0, 2.5):
    names = ("low", "high", "average", "final", "both", "absent", "eval/acc", "plain")
    run.log(dict.fromkeys(names, value))
run.finish()
