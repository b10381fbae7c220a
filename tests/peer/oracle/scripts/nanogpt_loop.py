"""The shape of a small GPT trainer: config from globals, evaluation every so often, the learning rate by hand."""

import math

import wandb

wandb_project, wandb_run_name = "owt", "gpt2-tiny"
eval_interval, max_iters, learning_rate, warmup_iters, min_lr = 5, 20, 6e-4, 4, 6e-5
config = {k: v for k, v in globals().items() if not k.startswith("_") and isinstance(v, int | float | bool | str)}


def get_lr(it: int) -> float:
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    ratio = (it - warmup_iters) / (max_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


wandb.init(project=wandb_project, name=wandb_run_name, config=config)
for iter_num in range(max_iters + 1):
    losses = {"train": 4 / (1 + iter_num), "val": 4.1 / (1 + iter_num)}
    if iter_num % eval_interval == 0:
        wandb.log(
            {
                "iter": iter_num,
                "train/loss": losses["train"],
                "val/loss": losses["val"],
                "lr": get_lr(iter_num),
                "mfu": 0.3 * 100,
            }
        )
