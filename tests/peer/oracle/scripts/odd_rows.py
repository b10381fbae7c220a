"""Rows of other shapes: keys that are no text, what is no mapping, empty ones, deep ones."""

import wandb

run = wandb.init(project="rows")
rows = ({1: 2.0}, "loss=1", [("loss", 1.0)], None, {None: 1.0}, {("a", "b"): 1.0})
for step, row in enumerate(rows):
    try:
        run.log(row, step=step)
    except (TypeError, ValueError):
        print("refused:", row)
run.log({"empty": {}, "none": [], "after": 1}, step=10)
run.log({"deep": {"a": {"b": {"c": 1.0}}}, "list": [{"a": 1}, {"a": 2}], "rows": [[1, 2], [3, 4]]}, step=11)
run.finish()
