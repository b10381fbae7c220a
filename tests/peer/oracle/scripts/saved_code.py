"""Code logged by the run: the Python files of the folder, then others by a rule."""

from pathlib import Path

import wandb

Path("model.py").write_text("width = 8\n", "utf-8")
Path("train.yaml").write_text("lr: 0.1\n", "utf-8")
run = wandb.init(project="code")
run.log_code(".", name="all-code")
run.log_code(".", name="settings", include_fn=lambda path: path.endswith(".yaml"))
run.log({"loss": 1.0})
run.finish()
