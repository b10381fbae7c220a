"""Three runs of one process, each begun while the one before is open, as a notebook does."""

import wandb

for seed in range(3):
    run = wandb.init(project="seeds", name=f"seed-{seed}", group="seeds", config={"seed": seed}, reinit=True)
    for i in range(4):
        wandb.log({"loss": seed + i / 10})
wandb.finish()
