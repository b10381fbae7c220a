"""Steps of the script's own, with holes, from 100 on; evaluation less often than training, under other keys."""

import wandb

run = wandb.init(project="steps", name="explicit")
for step in range(100, 160, 4):
    run.log({"train/loss": 1 / step, "train/tokens": step * 4096}, step=step)
    if step % 20 == 0:
        run.log({"eval/loss": 2 / step}, step=step)
print(run.step)
run.finish()
