"""A reinforcement-learning script that logs through a tensorboard writer and asks for its synchronisation."""

import wandb
from torch.utils.tensorboard import SummaryWriter

run_name = "CartPole-v1__ppo__1__0"
wandb.init(
    project="cleanRL",
    entity=None,
    sync_tensorboard=True,
    config={"seed": 1, "total_timesteps": 100},
    name=run_name,
    save_code=True,
)
writer = SummaryWriter(f"runs/{run_name}")
writer.add_text("hyperparameters", "|param|value|\n|-|-|\n|seed|1|")
for global_step in range(0, 40, 10):
    writer.add_scalar("charts/episodic_return", 9.0 + global_step, global_step)
    writer.add_scalar("losses/value_loss", 1.0 / (1 + global_step), global_step)
writer.close()
wandb.finish()
