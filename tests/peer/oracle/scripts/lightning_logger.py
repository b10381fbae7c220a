"""Lightning's WandbLogger: hyperparameters, metrics of steps and epochs, a table, a checkpoint kept as an artifact."""

import lightning.pytorch as pl
import torch
import wandb
from lightning.pytorch.loggers import WandbLogger
from torch.utils.data import DataLoader, TensorDataset


class Tiny(pl.LightningModule):
    def __init__(self, lr: float = 0.1, width: int = 4) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("train/loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val/loss", torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1]), prog_bar=False)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams["lr"])


pl.seed_everything(0, verbose=False)
x = torch.linspace(-1, 1, 48).reshape(16, 3)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
logger = WandbLogger(project="tiny-lightning", name="lit", log_model=True, group="g", tags=["tiny"])
logger.watch(module := Tiny(), log="gradients", log_freq=2, log_graph=False)
trainer = pl.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=logger,
    log_every_n_steps=1,
    enable_progress_bar=False,
    enable_model_summary=False,
    default_root_dir="lit",
)
trainer.fit(module, data, data)
logger.log_text("samples", columns=["prompt", "answer"], data=[["2+2", "4"]])
wandb.finish()
