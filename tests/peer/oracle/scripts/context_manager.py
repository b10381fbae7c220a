"""A run as a context manager; the second one is left by an exception."""

import wandb

with wandb.init(project="context", name="good") as run:
    run.log({"loss": 1.0})
print(wandb.run is None)
try:
    with wandb.init(project="context", name="bad") as run:
        run.log({"loss": 2.0})
        raise ValueError("a fault of the script")
except ValueError as error:
    print(error)
print(wandb.run is None)
