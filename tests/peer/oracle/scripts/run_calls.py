"""The rest of what a run answers to."""

import wandb

run = wandb.init(project="calls", id="calls-id", resume="never")
print(run.id, run.resumed, run.disabled, run.offline, run.step, run.start_time > 0, bool(run.dir), run.path)
run.log({"loss": 1.0})
run.mark_preempting()
run.log({"loss": 0.5}, step=4)
print(run.step, wandb.run is run, wandb.run.id, run.url, hasattr(wandb.util, "generate_id"))
run.log({})
run.log({"after_empty": 1})
wandb.finish(exit_code=0)
print(wandb.run)
