"""Optuna's callback: a study as one run, then a run a trial."""

import warnings

import optuna
import wandb
from optuna_integration.wandb import WeightsAndBiasesCallback

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -10, 10)
    return (x - 2) ** 2 + trial.suggest_int("depth", 1, 4)


whole = WeightsAndBiasesCallback(metric_name="error", wandb_kwargs={"project": "tiny-optuna", "name": "study"})
sampler = optuna.samplers.RandomSampler(seed=0)
optuna.create_study(sampler=sampler, study_name="s").optimize(objective, n_trials=4, callbacks=[whole])
wandb.finish()

each = WeightsAndBiasesCallback(wandb_kwargs={"project": "tiny-optuna", "tags": ["many"]}, as_multirun=True)


@each.track_in_wandb()
def traced(trial: optuna.Trial) -> float:
    value = objective(trial)
    wandb.log({"inside": value / 2})
    return value


sampler = optuna.samplers.RandomSampler(seed=1)
optuna.create_study(sampler=sampler, study_name="m").optimize(traced, n_trials=2, callbacks=[each])
