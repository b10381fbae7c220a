"""PyTorch's tensors as they come out of a step."""

import torch
import wandb

run = wandb.init(project="torch")
weights = torch.tensor([0.5, -0.25], requires_grad=True)
for step in range(3):
    loss = (weights**2).sum() * (step + 1)
    run.log({"loss": loss, "detached": loss.detach(), "item": loss.item(), "count": torch.tensor(step)})
run.log({"half": torch.tensor(0.1, dtype=torch.bfloat16), "flag": torch.tensor(True)})
run.log({"one": torch.tensor([1.5])})
run.finish()
