"""The axis of a metric logged in rows of its own: `step_sync` carries its last value to the others."""

import wandb

run = wandb.init(project="axes")
run.define_metric("tokens")
run.define_metric("loss", step_metric="tokens", step_sync=True)
run.define_metric("speed", step_metric="tokens")
run.define_metric("norm", step_metric="tokens", step_sync=False)
for i in range(4):
    run.log({"tokens": i * 4096})
    run.log({"loss": 1 / (i + 1)})
    run.log({"speed": 100 + i})
    run.log({"norm": 0.5 * i})
run.finish()
