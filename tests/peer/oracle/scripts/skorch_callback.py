"""skorch's WandbLogger in a scikit-learn style fit."""

import numpy as np
import torch
import wandb
from skorch import NeuralNetRegressor
from skorch.callbacks import WandbLogger

torch.manual_seed(0)
x = np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)
run = wandb.init(project="tiny-skorch")
run.config.update({"lr": 0.05})
net = NeuralNetRegressor(
    torch.nn.Linear(3, 1),
    max_epochs=4,
    lr=0.05,
    verbose=0,
    iterator_train__shuffle=False,
    callbacks=[WandbLogger(run, keys_ignored=["dur"])],
)
net.fit(x, x.sum(1, keepdims=True))
run.finish()
