"""A goal for a metric, as scripts of earlier years give it."""

import wandb

run = wandb.init(project="goals")
for name, goal in (("error", "minimize"), ("accuracy", "maximize")):
    try:
        run.define_metric(name, summary="best", goal=goal)
    except TypeError:
        print("no goal")
try:
    run.define_metric("score", summary="best")
except wandb.Error:
    print("no best")
for value in (3.0, 1.0, 4.0, 2.0):
    run.log({"error": value, "accuracy": value, "score": value})
run.finish()
