"""A summary set by hand beside the one that follows the log."""

import wandb

run = wandb.init(project="summary")
best = 0.0
for epoch in range(6):
    accuracy = 0.9 - abs(3 - epoch) / 10
    run.log({"accuracy": accuracy, "loss": 1 - accuracy})
    if accuracy > best:
        best = accuracy
        run.summary["best_accuracy"] = best
        run.summary["best_epoch"] = epoch
wandb.run.summary.update({"test": {"loss": 0.25, "samples": 1000}, "verdict": "good"})
run.summary.final = True
print(run.summary["best_epoch"], run.summary.get("absent"), round(run.summary["best_accuracy"], 6))
run.finish()
