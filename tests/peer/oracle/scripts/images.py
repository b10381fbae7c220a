"""Images: arrays, PIL's, a figure of matplotlib, several under one key; captions."""

import matplotlib as mpl
import numpy as np
from PIL import Image

mpl.use("Agg")
import matplotlib.pyplot as plt
import wandb

pixels = (np.arange(16 * 12 * 3) % 256).astype(np.uint8).reshape(12, 16, 3)
figure, axes = plt.subplots(figsize=(2, 1))
axes.plot([0, 1, 2], [1, 0, 1])

run = wandb.init(project="images")
run.log({"one": wandb.Image(pixels, caption="a ramp"), "loss": 1.0})
run.log({"pil": wandb.Image(Image.fromarray(pixels))})
run.log({"many": [wandb.Image(pixels), wandb.Image(pixels[::-1])]})
run.log({"figure": wandb.Image(figure)})
run.finish()
