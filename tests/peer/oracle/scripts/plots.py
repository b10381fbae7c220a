"""The ready-made charts."""

import wandb

run = wandb.init(project="plots")
table = wandb.Table(columns=["x", "y"], data=[[1, 2.0], [2, 4.0], [3, 8.0]])
run.log({"line": wandb.plot.line(table, "x", "y", title="Growth"), "loss": 1.0})
run.log({"bars": wandb.plot.bar(table, "x", "y"), "points": wandb.plot.scatter(table, "x", "y")})
run.log({"confusion": wandb.plot.confusion_matrix(y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["cat", "dog"])})
run.log({"series": wandb.plot.line_series(xs=[0, 1, 2], ys=[[1, 2, 3], [3, 2, 1]], keys=["up", "down"])})
run.finish()
