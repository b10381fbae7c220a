"""Alerts of three levels, once with a wait between two of the same title."""

from datetime import timedelta

import wandb
from wandb import AlertLevel

run = wandb.init(project="alerts")
for step, loss in enumerate((2.0, 9.0, 1.0)):
    run.log({"loss": loss})
    if loss > 5:
        run.alert(title="Loss spike", text=f"{loss} at step {step}", level=AlertLevel.WARN)
        wandb.alert("Again", "in words", level="ERROR", wait_duration=timedelta(minutes=5))
run.alert("Done", "all steps")
run.finish()
