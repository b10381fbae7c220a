"""Booleans, text, None, lists and tuples among the numbers."""

import wandb

run = wandb.init(project="odd")
run.log({"flag": True, "phase": "warmup", "nothing": None, "loss": 1.0})
run.log({"flag": False, "phase": "decay", "sizes": [1, 2, 3], "pair": (0.5, 0.25), "loss": 0.5})
run.log({"mixed": 1})
run.log({"mixed": "text"})
run.log({"mixed": 2.5})
run.finish()
