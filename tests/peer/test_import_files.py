"""Files made by the real writers (wandb offline, torch, tensorboard, Lightning, transformers) and what an import keeps.

Each writer runs in a process of its own, so that its threads, warnings and settings stay there.
"""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fanal.importers.event_file import EventFile
from fanal.importers.source import import_source
from fanal.importers.wandb_file import read_wandb
from fanal.record.reading.read import RunView, open_record

pytestmark = pytest.mark.peer


def write(folder: Path, script: str) -> None:
    """Run a writer in `folder`."""
    settings = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def imported(kind: str, source: Path, into: Path) -> dict[str, RunView]:
    report = import_source(kind, source, into)
    assert report.exit_code == 0, report.text
    assert import_source(kind, source, into).runs[0].added_rows == 0
    return open_record(into).runs


WANDB = """
import math, wandb
settings = wandb.Settings(console="off", x_disable_stats=True)
with wandb.init(project="p", id="abc", name="nice", config={"lr": 0.1, "o": {"x": 1}}, settings=settings) as run:
    run.define_metric("eval/*", step_metric="epoch", summary="max")
    for i in range(3000):
        run.log({"loss": 1 / (i + 3), "n": {"a": i}, "big": 2**60 + 1, "bad": math.nan if i % 5 else math.inf}, step=i)
    run.log({"h": wandb.Histogram([1.0, 2.0, 3.0]), "eval/x": 0.5}, step=3000)
    run.log({"t": wandb.Table(columns=["a"], data=[[1], [2]])}, step=3001)
    run.alert("Title", "words")
    run.summary["best"] = 3
    run.config.update({"late": 5})
"""


def test_wandbs_offline_file_comes_back_row_by_row(tmp_path: Path) -> None:
    write(tmp_path, WANDB)
    view = imported("wandb", tmp_path, tmp_path / "record")["abc"]
    loss = view.series("loss")
    assert loss.steps.tolist() == list(range(3000))
    assert loss.values.tolist() == [1 / (i + 3) for i in range(3000)]
    assert view.exact("n.a") == list(range(3000))
    assert view.exact("big")[0] == 2**60 + 1
    assert [math.isnan(v) for v in view.series("bad").values] == [bool(i % 5) for i in range(3000)]
    assert (view.config, view.name) == ({"lr": 0.1, "o": {"x": 1}, "late": 5}, "nice")
    assert view.summary["best"] == 3
    media = {other.key: other.value["$media"] for other in view.others()}
    assert media == {"h": "histogram", "t": "table"}
    assert next(o.value for o in view.others() if o.key == "t")["num_rows"] == 2
    assert view.attempts[0].outcome == "finished"


KILLED = """
import os, signal, time, wandb
run = wandb.init(project="p", id="abc", settings=wandb.Settings(console="off", x_disable_stats=True))
for i in range(2000):
    run.log({"loss": i})
time.sleep(float(os.environ.get("WAIT", "8")))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_wandb_runs_file_is_read_to_its_last_whole_record(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, env={**os.environ, "WANDB_MODE": "offline"}, capture_output=True
    )
    (path,) = (p for p in (tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    deadline = time.monotonic() + 30
    while len(read_wandb(path).history) < 1900 and time.monotonic() < deadline:
        time.sleep(0.5)  # wandb's own process writes what it was sent, and ends
    found = read_wandb(path)
    assert [step for step, _ in found.history] == list(range(len(found.history)))
    assert found.unreadable == []
    report = import_source("wandb", path, tmp_path / "record")
    assert (report.exit_code, report.runs[0].rows) == (0, len(found.history))


TORCH = """
import torch
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("log/run")
for i in range(500):
    writer.add_scalar("loss", 1 / (i + 1), i, walltime=1.7e9 + i / 3)
writer.add_histogram("h", torch.arange(100.0), 5)
writer.add_text("t", "héllo", 3)
writer.add_image("i", torch.zeros(3, 4, 5), 7)
writer.close()
writer = SummaryWriter("log/run", purge_step=400, filename_suffix=".restart")
for i in range(400, 600):
    writer.add_scalar("loss", 2.0, i)
writer.close()
with SummaryWriter("log/hp") as writer:
    writer.add_hparams({"lr": 0.1, "opt": "adam"}, {"score": 0.5}, run_name="one")
"""


def test_torchs_event_files_come_back_point_by_point(tmp_path: Path) -> None:
    write(tmp_path, TORCH)
    runs = imported("tensorboard", tmp_path / "log", tmp_path / "record")
    series = runs["run"].series("loss")
    assert series.steps.tolist() == list(range(600))
    assert series.values[:400].tolist() == [float(np.float32(1 / (i + 1))) for i in range(400)]
    assert (series.values[400:] == 2.0).all()
    assert series.times_ns[300] == 1_700_000_100 * 10**9
    assert len(runs["run"].series("loss", attempt=1)) == 500
    assert {o.key: o.value["$media"] for o in runs["run"].others()} == {
        "h": "histogram",
        "t/text_summary": "text",
        "i": "image",
    }
    assert runs["hp-one"].config == {"lr": 0.1, "opt": "adam"}
    assert runs["hp-one"].series("score").values.tolist() == [0.5]


BOTH = """
import json, glob
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
writer = EventFileWriter("log")
for i in range(3000):
    values = [Summary.Value(tag=f"k{k}", simple_value=i / (k + 3)) for k in range(i % 4 + 1)]
    writer.add_event(Event(wall_time=1.7e9 + i / 7, step=i * i, summary=Summary(value=values)))
    writer.add_event(Event(wall_time=1.7e9 + i / 7, step=i, summary=scalar_pb("tf2", i / 9)))
writer.close()
theirs = EventAccumulator("log", size_guidance={"scalars": 0, "tensors": 0})
theirs.Reload()
found = {tag: [(e.step, e.wall_time, e.value) for e in theirs.Scalars(tag)] for tag in theirs.Tags()["scalars"]}
json.dump(found, open("found.json", "w"))
"""


def test_the_points_are_those_that_tensorboards_own_reader_finds(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    theirs = json.loads((tmp_path / "found.json").read_text("utf-8"))
    view = imported("tensorboard", tmp_path / "log", tmp_path / "record")["log"]
    assert {"k0", "k1", "k2", "k3"} <= set(theirs)
    for tag, points in theirs.items():
        series = view.series(tag)
        assert series.steps.tolist() == [step for step, *_ in points]
        assert series.values.tolist() == [value for *_, value in points]
    tf2 = view.series("tf2")
    assert tf2.values.tolist() == [float(np.float32(i / 9)) for i in range(3000)]
    (path,) = (tmp_path / "log").iterdir()
    chunks = list(EventFile(path).read())
    assert sum(int((chunk.columns.tag_ids >= 0).sum()) for chunk in chunks) >= 3000 + 750


LIGHTNING = """
import warnings
warnings.simplefilter("ignore")
from lightning.pytorch.loggers import CSVLogger
logger = CSVLogger(".", name="csv", version=0)
for i in range(50):
    logger.log_metrics({"loss": i / 2, "epoch": i // 10}, step=i * 10)
    logger.save()
    if i == 20:
        logger.log_metrics({"val": 0.5}, step=i * 10)
        logger.save()
"""


def test_lightnings_csv_comes_back(tmp_path: Path) -> None:
    write(tmp_path, LIGHTNING)
    source = tmp_path / "csv" / "version_0" / "metrics.csv"
    view = imported("csv", source, tmp_path / "record")["version_0"]
    assert view.series("loss").steps.tolist() == [i * 10 for i in range(50)]
    assert view.series("loss").values.tolist() == [i / 2 for i in range(50)]
    assert view.series("val").steps.tolist() == [200]


TRANSFORMERS = """
from transformers.trainer_callback import TrainerState
import os
state = TrainerState(max_steps=30, num_train_epochs=1)
for step in range(1, 31):
    state.global_step = step
    state.log_history.append({"epoch": step / 30, "loss": 1 / step, "grad_norm": float("nan"), "step": step})
    if step % 10 == 0:
        folder = f"out/checkpoint-{step}"
        os.makedirs(folder)
        state.save_to_json(folder + "/trainer_state.json")
"""


def test_transformers_trainer_state_comes_back_from_the_newest_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, TRANSFORMERS)
    view = imported("hf", tmp_path / "out", tmp_path / "record")["out"]
    assert view.series("loss").values.tolist() == [1 / step for step in range(1, 31)]
    assert np.isnan(view.series("grad_norm").values).all()
    assert view.config["max_steps"] == 30
