"""Opens each tool that logs metrics, as its manual says, offline: a function that logs a row, and one that ends it.

Peers come from `locks/bench.in`. tensorboard is written as torch's `SummaryWriter` does: an event a scalar.
"""

import importlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Log = Callable[[dict[str, float], int], Any]
Tool = tuple[Log, Callable[[], Any]]
PACKAGES = {"wandb": "wandb", "trackio": "trackio", "tensorboard": "tensorboard", "swanlab": "swanlab"}


def opened(tool: str, out: Path) -> Tool:
    """A tool that writes into an empty folder."""
    out.mkdir()
    return {
        "fanal": _fanal,
        "JSON line": _json_line,
        "wandb": _wandb,
        "trackio": _trackio,
        "tensorboard": _tensorboard,
        "swanlab": _swanlab,
    }[tool](out)


def environment(out: Path) -> dict[str, str]:
    """Variables that keep every file of every tool inside a folder and every tool offline."""
    return {
        "HOME": str(out.parent),
        "TRACKIO_DIR": str(out),
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "HF_HUB_OFFLINE": "1",
        "SWANLAB_SAVE_DIR": str(out),
    }


def _fanal(out: Path) -> Tool:
    fanal = importlib.import_module("fanal")
    run = fanal.init(dir=str(out / "record"), id="bench")
    return run.log, run.finish


def _json_line(out: Path) -> Tool:
    """A JSON line a step, handed to the operating system each time: what everybody can have."""
    file = (out / "m.jsonl").open("w", encoding="utf-8")

    def log(row: dict[str, float], step: int) -> None:
        file.write(json.dumps({"s": step, "t": time.time(), "m": row}) + "\n")
        file.flush()

    return log, file.close


def _wandb(out: Path) -> Tool:
    wandb = importlib.import_module("wandb")
    settings = wandb.Settings(console="off", silent=True)
    run = wandb.init(project="bench", mode="offline", dir=str(out), settings=settings)
    return (lambda row, step: run.log(row, step=step)), run.finish


def _trackio(out: Path) -> Tool:
    trackio = importlib.import_module("trackio")
    trackio.init(project="bench", name="r", embed=False)
    return (lambda row, step: trackio.log(row, step=step)), trackio.finish


def _tensorboard(out: Path) -> Tool:
    event = importlib.import_module("tensorboard.compat.proto.event_pb2").Event
    summary = importlib.import_module("tensorboard.compat.proto.summary_pb2").Summary
    writer = importlib.import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter(str(out))

    def log(row: dict[str, float], step: int) -> None:
        for key, value in row.items():
            scalar = summary(value=[summary.Value(tag=key, simple_value=value)])
            writer.add_event(event(wall_time=time.time(), step=step, summary=scalar))

    return log, writer.close


def _swanlab(out: Path) -> Tool:
    swanlab = importlib.import_module("swanlab")
    swanlab.init(project="bench", mode="offline", logdir=str(out))
    return (lambda row, step: swanlab.log(row, step=step)), swanlab.finish
