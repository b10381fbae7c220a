"""A row put together by several calls: `commit=False` holds it open, the next plain call closes it."""

import wandb

run = wandb.init(project="commit")
for i in range(5):
    run.log({"first": i}, commit=False)
    run.log({"second": i * 10}, commit=False)
    run.log({"third": i * 100})
run.log({"left_open": 1.5}, commit=False)
run.finish()
