"""Models logged by their path, with and without a name; an artifact used by name, which is nowhere."""

from pathlib import Path

import wandb

Path("model.pt").write_bytes(bytes(64))
run = wandb.init(project="models")
run.log_model("model.pt", name="small", aliases=["best"])
try:
    run.use_artifact("absent:latest")
except Exception as error:  # noqa: BLE001
    print("refused:", not isinstance(error, AttributeError))
run.log({"loss": 1.0})
run.finish()
