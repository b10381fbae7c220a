"""Gradients and weights of a model, watched."""

import torch
import wandb

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
run = wandb.init(project="watch")
run.watch(model, log="all", log_freq=2)
x, y = torch.linspace(-1, 1, 32).reshape(8, 4), torch.linspace(0, 1, 8)[:, None]
for _ in range(6):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    run.log({"loss": loss.item()})
run.unwatch(model)
run.finish()
