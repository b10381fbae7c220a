"""A config that grows: update, setdefaults, attributes, items; a change of a value is refused unless allowed."""

import wandb

run = wandb.init(project="update", config={"lr": 0.1, "depth": 4})
run.config.update({"width": 256})
run.config.setdefaults({"lr": 99.0, "seed": 7})
run.config.batch = 16
run.config["dropout"] = 0.0
try:
    run.config.update({"lr": 0.2})
except wandb.errors.Error as error:
    print(type(error).__name__)
wandb.config.update({"lr": 0.3}, allow_val_change=True)
print("depth" in run.config, "none" in run.config, run.config.get("none"), run.config.lr)
print(sorted(run.config.keys()), dict(run.config)["seed"], run.config.as_dict()["batch"])
run.log({"loss": 0.5})
run.finish()
