"""All labels that `init` takes, some changed later."""

import wandb

run = wandb.init(
    project="labels",
    entity="team",
    name="first name",
    notes="what we try here",
    tags=["baseline", "small"],
    group="experiment-1",
    job_type="train",
)
run.log({"loss": 1.0})
run.tags += ("late",)
print(run.name, run.project, run.group, run.job_type, run.tags, run.notes, run.id != "", run.entity)
run.finish()
