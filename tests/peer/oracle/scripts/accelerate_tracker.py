"""Accelerate's tracker of wandb: config, numbers, a table, images."""

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

set_seed(0)
accelerator = Accelerator(log_with="wandb", cpu=True)
accelerator.init_trackers(
    "tiny-accelerate", config={"lr": 0.1, "steps": 5}, init_kwargs={"wandb": {"name": "acc", "tags": ["tiny"]}}
)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
x = torch.linspace(-1, 1, 12).reshape(4, 3)
for step in range(5):
    loss = (model(x) ** 2).mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.log({"loss": loss.item(), "norm": model.weight.norm()}, step=step)
tracker = accelerator.get_tracker("wandb")
tracker.log_table("samples", columns=["in", "out"], data=[["a", 1], ["b", 2]], step=5)
tracker.log_images({"ramp": np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)}, step=5)
accelerator.end_training()
