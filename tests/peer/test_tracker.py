"""The tracker beside wandb: every argument has its line, every call and module its place; callbacks write."""

import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import wandb

import fanal
from fanal.tracker.run import Run
from tests.peer.wandb_table import PAGE, RECORDED, WHAT, arguments, calls, page

pytestmark = pytest.mark.peer


def python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "FANAL_SYSTEM": "0", "HOME": str(folder), "PYTHONPATH": str(PAGE.parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_table_of_arguments_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.peer.wandb_table`"


@pytest.mark.parametrize("name", WHAT)
def test_ours_takes_every_argument_of_theirs_and_the_table_names_no_other(name: str) -> None:
    theirs, ours = calls()[name]
    taken = arguments(theirs)
    assert set(WHAT[name]) == {argument.name for argument in taken}
    given: dict[str, Any] = {argument.name: None for argument in taken}
    bound = [None] if name.startswith("Run.") else []
    inspect.signature(ours).bind(*bound, **given)


def test_inits_arguments_are_theirs_in_name_order_and_default() -> None:
    theirs, ours = (arguments(call) for call in calls()["init"])
    assert [a.name for a in ours[: len(theirs)]] == [a.name for a in theirs]
    assert {a.name for a in theirs if a.default is not None} == {"anonymous"}
    assert all(a.default is None for a in ours[: len(theirs)])


def test_what_the_table_says_is_recorded_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANAL_SYSTEM", "0")
    monkeypatch.setenv("FANAL_X_DISABLE_META", "1")
    recorded = [name for name, (what, _) in WHAT["init"].items() if what == RECORDED]
    fanal.init(dir=tmp_path / "r", id="a", **dict.fromkeys(recorded, "given"))
    fanal.finish()
    (event,) = fanal.open(tmp_path / "r").runs["a"].events("settings")
    assert sorted(event.fields["given"]) == sorted(recorded)


def test_a_run_answers_to_everything_that_theirs_answers_to() -> None:
    theirs = {name for name in dir(wandb.sdk.wandb_run.Run) if not name.startswith("_")}
    ours = {name for name in dir(Run) if not name.startswith("_")} | {"resumed", "start_time", "config", "summary"}
    ours |= {"starting_step"}
    assert theirs - ours == set()


def test_frameworks_find_the_shim(tmp_path: Path) -> None:
    said = python(
        """
        import fanal
        fanal.shim()
        from accelerate.utils import is_wandb_available
        from transformers.integrations import is_wandb_available as again
        from lightning.pytorch.loggers.wandb import _WANDB_AVAILABLE
        print(is_wandb_available(), again(), bool(_WANDB_AVAILABLE))
        """,
        tmp_path,
    )
    assert said.splitlines()[-1] == "True True True"


def test_the_trainers_callback_writes_under_the_known_names(tmp_path: Path) -> None:
    python(
        """
        import torch, fanal
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
        from fanal.tracker.huggingface import FanalCallback
        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8))
        rows = torch.arange(16 * 8).reshape(16, 8) % 16
        data = [{"input_ids": row, "labels": row} for row in rows]
        arguments = TrainingArguments(
            output_dir="hf", max_steps=6, per_device_train_batch_size=4, logging_steps=2, eval_strategy="steps",
            eval_steps=3, save_strategy="no", use_cpu=True, disable_tqdm=True, report_to=[],
        )
        callback = FanalCallback(dir="r", id="hf")
        trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:4], callbacks=[callback])
        trainer.train()
        trainer.predict(data[:4])
        fanal.finish()
        """,
        tmp_path,
    )
    view = fanal.open(tmp_path / "r").runs["hf"]
    assert view.exact("train/global_step") == [2, 3, 4, 6, 6, 6, 6]
    assert len(view.series("train/loss").values) == 3
    assert {"eval/loss", "test/loss", "train/learning_rate", "train/grad_norm"} <= set(view.keys())
    assert view.config["model/num_parameters"] == 1080
    totals = {"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos"}
    assert totals <= set(view.summary)
    assert totals.isdisjoint(key.removeprefix("train/") for key in set(view.keys()))
    assert view.metric("eval/loss").step_metric == "train/global_step"


def test_accelerates_tracker_writes(tmp_path: Path) -> None:
    python(
        """
        import numpy as np
        from accelerate import Accelerator
        from fanal.tracker.accelerate import FanalTracker
        tracker = FanalTracker("acc", dir="r", id="acc")
        accelerator = Accelerator(log_with=tracker, cpu=True)
        accelerator.init_trackers("acc", config={"lr": 0.1})
        for step in range(3):
            accelerator.log({"loss": step / 2}, step=step)
        tracker.log_images({"ramp": np.zeros((1, 4, 4, 3), np.uint8)}, step=3)
        tracker.log_table("samples", columns=["in"], data=[["a"]], step=3)
        accelerator.end_training()
        """,
        tmp_path,
    )
    view = fanal.open(tmp_path / "r").runs["acc"]
    assert (view.exact("loss"), view.config, view.attempts[0].outcome) == ([0.0, 0.5, 1.0], {"lr": 0.1}, "finished")
    assert {other.key: other.value["$media"] for other in view.others()} == {"ramp": "image", "samples": "table"}


def test_lightnings_logger_writes(tmp_path: Path) -> None:
    python(
        """
        import torch, fanal
        import lightning.pytorch as pl
        from torch.utils.data import DataLoader, TensorDataset
        from fanal.tracker.lightning import FanalLogger

        class Tiny(pl.LightningModule):
            def __init__(self, lr=0.1):
                super().__init__()
                self.save_hyperparameters()
                self.layer = torch.nn.Linear(3, 1)

            def training_step(self, batch, _):
                loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
                self.log("train/loss", loss)
                return loss

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        x = torch.linspace(-1, 1, 48).reshape(16, 3)
        data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
        logger = FanalLogger(dir="r", id="pl", project="lit", log_model=True)
        trainer = pl.Trainer(
            max_epochs=2, accelerator="cpu", logger=logger, log_every_n_steps=1, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir="lit",
        )
        trainer.fit(Tiny(), data)
        fanal.finish()
        """,
        tmp_path,
    )
    view = fanal.open(tmp_path / "r").runs["pl"]
    assert view.exact("trainer/global_step") == list(range(8))
    assert len(view.series("train/loss").values) == 8
    assert view.config == {"lr": 0.1}
    (artifact,) = view.events("artifact")
    assert (artifact.fields["name"], artifact.fields["aliases"]) == ("model-pl", ["best", "latest"])


def test_torchs_own_tensors_and_modules_are_watched_and_drawn(tmp_path: Path) -> None:
    python(
        """
        import torch, fanal
        run = fanal.init(dir="r", id="a")
        model = torch.nn.Linear(4, 3)
        run.watch(model, log="all", log_freq=2)
        for _ in range(4):
            loss = model(torch.linspace(-1, 1, 8).reshape(2, 4)).square().mean()
            loss.backward()
            run.log({"loss": loss, "picture": fanal.Image(torch.rand(3, 4, 5)), "h": fanal.Histogram(model.weight)})
        run.finish()
        """,
        tmp_path,
    )
    view = fanal.open(tmp_path / "r").runs["a"]
    found = [(other.key, other.step) for other in view.others() if "/" in other.key]
    assert {step for _, step in found} == {1, 3}
    assert {key for key, _ in found} == {
        f"{what}/{name}" for what in ("gradients", "parameters") for name in ("weight", "bias")
    }
    assert view.series("loss").steps.tolist() == [0, 1, 2, 3]
