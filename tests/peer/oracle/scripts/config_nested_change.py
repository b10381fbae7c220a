"""A config whose inner values change."""

import wandb

run = wandb.init(project="nested-config", config={"model": {"depth": 2, "width": 8}, "old": 1, "list": [1]})
run.config.update({"model": {"depth": 4}}, allow_val_change=True)
run.config["optimizer"] = {"name": "sgd", "lr": 0.1}
run.config.update({"list": [1, 2]}, allow_val_change=True)
print(run.config.model, run.config["optimizer"]["lr"], len(run.config.items()))
run.log({"loss": 1.0})
run.finish()
