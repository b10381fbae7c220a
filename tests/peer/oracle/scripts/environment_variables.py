"""Everything by variables, nothing by arguments but one, which wins."""

import os

os.environ |= {
    "WANDB_PROJECT": "from-env",
    "WANDB_NAME": "named by env",
    "WANDB_TAGS": "a,b",
    "WANDB_NOTES": "noted",
    "WANDB_RUN_GROUP": "grouped",
    "WANDB_JOB_TYPE": "eval",
    "WANDB_RUN_ID": "env-id",
}

import wandb

run = wandb.init(job_type="train")
run.log({"loss": 1.0})
print(run.id, run.name, run.project, run.group, run.job_type, run.tags, run.notes)
run.finish()
