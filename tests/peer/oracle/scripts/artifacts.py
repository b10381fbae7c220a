"""Artifacts: a model with an alias, a dataset of a folder, a path alone, code."""

from pathlib import Path

import wandb

Path("data").mkdir()
Path("data/a.txt").write_text("a", "utf-8")
Path("data/b.txt").write_text("bb", "utf-8")
Path("weights.bin").write_bytes(b"\0" * 1000)
run = wandb.init(project="artifacts")
model = wandb.Artifact("tiny", type="model", description="a tiny model", metadata={"loss": 0.5})
model.add_file("weights.bin")
run.log_artifact(model, aliases=["best"])
dataset = wandb.Artifact("letters", type="dataset")
dataset.add_dir("data")
with dataset.new_file("readme.txt") as file:
    file.write("two letters")
run.log_artifact(dataset)
run.log_artifact("weights.bin", name="raw", type="file")
run.log({"loss": 0.5})
run.finish()
