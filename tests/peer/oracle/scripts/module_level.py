"""Everything by the module, as older scripts have it."""

from pathlib import Path

import wandb

wandb.init(project="module", config={"lr": 0.1}, tags=["old"], reinit=True)
wandb.define_metric("accuracy", summary="max")
wandb.config.update({"epochs": 3})
wandb.config.seed = 1
Path("weights.txt").write_text("0.5", "utf-8")
for epoch in range(wandb.config.epochs):
    wandb.log({"accuracy": 0.5 + epoch / 10, "epoch": epoch})
wandb.summary["final"] = 0.7
wandb.run.summary["verdict"] = "kept"
wandb.save("weights.txt")
artifact = wandb.Artifact("weights", type="model")
artifact.add_file("weights.txt")
wandb.log_artifact(artifact)
wandb.alert(title="Done", text="three epochs")
print(wandb.run.step, wandb.config["lr"], wandb.summary["final"], wandb.run.tags)
wandb.finish()
