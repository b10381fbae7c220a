"""Only some of a config, by name: kept keys in one run, left out keys in the next."""

import wandb

config = {"lr": 0.1, "api_token": "none", "depth": 4, "scratch": "/tmp/x"}
with wandb.init(project="filter", config=config, config_include_keys=["lr", "depth"]) as run:
    run.log({"loss": 1.0})
with wandb.init(project="filter", config=config, config_exclude_keys=["api_token", "scratch"]) as run:
    run.log({"loss": 2.0})
