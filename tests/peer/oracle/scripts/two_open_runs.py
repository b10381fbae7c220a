"""Two runs open at once, written to in turn."""

import wandb

one = wandb.init(project="two", name="one", reinit="create_new")
two = wandb.init(project="two", name="two", reinit="create_new")
for i in range(4):
    one.log({"loss": i})
    two.log({"loss": 10 + i}, step=2 * i)
two.finish()
one.log({"loss": 99})
one.finish()
