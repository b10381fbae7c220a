"""Files kept with the run: one by name, several by pattern, one in a sub-folder."""

from pathlib import Path

import wandb

Path("out").mkdir()
Path("model.pt").write_bytes(bytes(range(256)))
for i in range(3):
    Path(f"out/part-{i}.txt").write_text(f"part {i}", "utf-8")
run = wandb.init(project="files")
run.save("model.pt")
run.save("out/*.txt", base_path="out", policy="now")
Path(run.dir, "notes.txt").write_text("in the run's folder", "utf-8")
run.log({"loss": 1.0})
run.finish()
