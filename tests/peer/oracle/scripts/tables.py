"""Tables: of rows, of a data frame, grown by add_data."""

import pandas as pd
import wandb

run = wandb.init(project="tables")
table = wandb.Table(columns=["prompt", "answer", "score"])
table.add_data("2+2", "4", 1.0)
table.add_data("3+3", "7", 0.0)
run.log({"samples": table})
run.log({"rows": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"], [3, None]])})
run.log({"frame": wandb.Table(dataframe=pd.DataFrame({"step": [1, 2], "loss": [0.5, 0.25]})), "loss": 0.25})
run.finish()
