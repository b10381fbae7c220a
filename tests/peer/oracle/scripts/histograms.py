"""Histograms: of samples, with a number of bins, and given as counts and edges."""

import numpy as np
import wandb

samples = np.linspace(-1, 1, 101) ** 3
run = wandb.init(project="histograms")
for step in range(3):
    run.log({"weights": wandb.Histogram(samples * (step + 1)), "loss": 1.0 / (step + 1)})
run.log({"coarse": wandb.Histogram(samples, num_bins=8)})
run.log({"given": wandb.Histogram(np_histogram=np.histogram(samples, bins=4))})
run.log({"many": np.arange(100.0)})
run.finish()
