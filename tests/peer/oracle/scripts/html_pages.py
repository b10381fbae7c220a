"""Html from text and from a file."""

from pathlib import Path

import wandb

Path("page.html").write_text("<h1>Samples</h1>", "utf-8")
run = wandb.init(project="html")
run.log({"sample": wandb.Html("<p>Once upon a time</p>"), "loss": 1.0})
with Path("page.html").open(encoding="utf-8") as page:
    run.log({"page": wandb.Html(page)})
run.finish()
