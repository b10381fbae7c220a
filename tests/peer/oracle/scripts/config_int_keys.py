"""A config whose keys are integers, at the top and inside."""

import wandb

try:
    run = wandb.init(project="intkeys", config={3: "three"})
    run.log({"loss": 1.0})
    run.finish()
except AttributeError:
    wandb.finish()
run = wandb.init(project="intkeys", config={"layers": {0: 64, 1: 128}}, reinit=True)
run.log({"loss": 2.0})
run.finish()
