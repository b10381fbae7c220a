"""Poutyne's WandBLogger, by batches and by epochs, with an artifact before the start."""

from pathlib import Path

import numpy as np
import torch
import wandb
from poutyne import Model
from poutyne.framework.callbacks.wandb_logger import WandBLogger

torch.manual_seed(0)
Path("start.txt").write_text("initial", "utf-8")
x = np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)
y = x.sum(1, keepdims=True)
for by_batch in (False, True):
    network = torch.nn.Linear(3, 1)
    logger = WandBLogger(
        name=f"batches-{by_batch}",
        project="tiny-poutyne",
        group="g",
        config={"lr": 0.01},
        batch_granularity=by_batch,
        initial_artifacts_paths=["start.txt"],
    )
    logger.log_config_params({"loss": "mse"})
    model = Model(network, "sgd", "mse", device="cpu")
    model.fit(x, y, validation_data=(x, y), epochs=2, batch_size=10, verbose=False, callbacks=[logger])
    wandb.finish()
