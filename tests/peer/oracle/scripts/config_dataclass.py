"""A dataclass config: as a dictionary, and itself under a key."""

from dataclasses import asdict, dataclass, field

import wandb


@dataclass
class Optimizer:
    name: str = "adamw"
    betas: tuple[float, float] = (0.9, 0.95)


@dataclass
class Config:
    lr: float = 1e-3
    optimizer: Optimizer = field(default_factory=Optimizer)


config = Config()
run = wandb.init(project="dataclass", config=asdict(config))
run.config.update({"whole": asdict(config.optimizer)})
print(run.config["optimizer"]["name"], run.config.get("absent", "default"))
run.log({"loss": 1.0})
run.finish()
