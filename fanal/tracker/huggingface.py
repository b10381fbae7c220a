"""`FanalCallback`: the Trainer of transformers writes a run, under the names that its other callbacks use.

`Trainer(..., callbacks=[FanalCallback(project="…")])`. Only the first process of a job writes. `WANDB_LOG_MODEL`, or
`FANAL_LOG_MODEL`, of `end` or `checkpoint` keeps models as artifacts; `…_WATCH` watches gradients.
Imports transformers.
"""
# pyright: basic, reportMissingImports=false
# The framework is there where this is used, and its types are its own.

import os
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from fanal.tracker import current
from fanal.tracker.run import Run

GLOBAL_STEP = "train/global_step"
TOTALS = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos")
"""What the Trainer reports once, at the end: values of the summary, under these names, and of no row."""
_PREFIXES = {"eval_": "eval/", "test_": "test/"}
_WATCHED = ("gradients", "parameters", "all")


class FanalCallback(TrainerCallback):
    """Logs what the Trainer reports; `init` is called with the given arguments where no run is open."""

    def __init__(self, **init: Any) -> None:
        super().__init__()
        self._init = init
        self._run: Run | None = None

    def setup(self, args: Any, state: Any, model: Any) -> Run | None:
        """The run, begun where none is open; None in processes that do not write."""
        if not state.is_world_process_zero:
            return None
        if self._run is not None and not self._run.ended:
            return self._run
        given = dict(self._init)
        if getattr(state, "trial_name", None) is not None:
            given |= {"name": state.trial_name, "group": args.run_name or args.output_dir}
        given.setdefault("name", args.run_name)
        run = self._run = current.current() or current.init(**given)
        run.config.update({**_config_of(model), **args.to_dict()})
        if callable(count := getattr(model, "num_parameters", None)):
            run.config["model/num_parameters"] = count()
        run.define_metric(GLOBAL_STEP)
        run.define_metric("*", step_metric=GLOBAL_STEP, step_sync=True)
        if (watched := _variable("WATCH")) in _WATCHED:
            run.watch(model, log=watched, log_freq=max(100, int(state.logging_steps)))
        return run

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Begin; a hyperparameter search's next trial begins the next run."""
        del control
        if state.is_hyper_param_search and self._run is not None:
            self._run.finish()
            self._run = None
        self.setup(args, state, model)

    def on_log(self, args: Any, state: Any, control: Any, model: Any = None, logs: Any = None, **_: Any) -> None:
        """A row; the totals of a training's end go into the summary."""
        del control
        if (run := self.setup(args, state, model)) is not None:
            row = dict(logs or {})
            run.summary.update({name: row.pop(name) for name in TOTALS if name in row})
            run.log({**renamed(row), GLOBAL_STEP: state.global_step})

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
        """A row of a prediction's metrics."""
        del control
        if (run := self.setup(args, state, None)) is not None:
            run.log(renamed(metrics or {}))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint as an artifact, where that is asked for."""
        del control
        if self._run is not None and state.is_world_process_zero and _variable("LOG_MODEL") == "checkpoint":
            name = f"checkpoint-{state.global_step}"
            self._run.log_artifact(Path(args.output_dir) / name, f"model-{self._run.id}", "model", [name])

    def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """The final model as an artifact, where that is asked for."""
        del control
        if self._run is not None and state.is_world_process_zero and _variable("LOG_MODEL") in ("end", "true", "1"):
            folder = Path(self._run.dir) / "model"
            model.save_pretrained(folder)
            self._run.log_artifact(folder, f"model-{self._run.id}", "model", ["final_model"])


def renamed(logs: dict[str, Any]) -> dict[str, Any]:
    """The Trainer's names with their part before a slash: `eval_loss` is `eval/loss`, `loss` is `train/loss`."""
    return {_renamed(name): value for name, value in logs.items()}


def _renamed(name: str) -> str:
    for start, prefix in _PREFIXES.items():
        if name.startswith(start):
            return prefix + name.removeprefix(start)
    return f"train/{name}"


def _config_of(model: Any) -> dict[str, Any]:
    config: Any = getattr(model, "config", None)
    found: Any = config.to_dict() if hasattr(config, "to_dict") else config
    return dict(found) if found else {}


def _variable(end: str) -> str:
    return (os.environ.get(f"FANAL_{end}") or os.environ.get(f"WANDB_{end}") or "").lower()
