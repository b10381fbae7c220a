"""A longer run: 6,000 rows of three keys, a fourth now and then, and one row of 1,500 keys."""

import wandb

run = wandb.init(project="long")
for step in range(6000):
    row = {"loss": 8.0 / (1 + step), "lr": 1e-3 * (1 - step / 6000), "tokens": step * 4096}
    if step % 500 == 499:
        row["eval"] = 9.0 / (1 + step)
    run.log(row)
run.log({f"layer{i}/norm": i / 3 for i in range(1500)})
run.finish()
