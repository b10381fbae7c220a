"""Settings given as an object and as a dictionary; setup and teardown around the run."""

import wandb

wandb.setup()
run = wandb.init(project="settings", settings=wandb.Settings(console="off", x_disable_stats=True, run_notes="set"))
run.log({"loss": 1.0})
run.finish()
run = wandb.init(project="settings", settings={"console": "off", "run_name": "by settings"})
run.log({"loss": 2.0})
run.finish()
wandb.teardown()
