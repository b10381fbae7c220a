"""The demo as a person meets it: seconds by stage, first curve, peak memory, warm start, shares of logging and evals.

The campaign runs in a folder of its own with the wheels cached and the compiled programs not (cold) and then,
killed in its first rung and started again, with everything cached (warm). Bars: 6 minutes in all, first curve within
60 s, 3 GB, warm start within 10 s, logging under 1 % of a step, evals at most 30 % of training.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import fanal
from fanal.record.reading.read import Record

CAMPAIGN = "lantern"
WARM_STEP = 60
"""Step of the first rung at which the warm start's first half is killed; a checkpoint is behind it."""


def measure() -> dict[str, Any]:
    """Run the campaign once to its end, and once to a kill and on."""
    with tempfile.TemporaryDirectory() as place:
        whole = run_to_end(Path(place) / "whole")
        warm = warm_start(Path(place) / "warm")
    return {"campaign": CAMPAIGN, **whole, "warm_start_to_first_step_seconds": warm}


def run_to_end(cwd: Path) -> dict[str, Any]:
    """Wall and CPU seconds by stage, the first curve, peak memory and the shares of training."""
    cwd.mkdir()
    before = os.times()
    began, began_ns = time.monotonic(), time.time_ns()
    child = launch(cwd, cold_cache=cwd / "xla")
    peak = watch_memory(child)
    if child.returncode != 0:
        raise SystemExit(f"fanal run {CAMPAIGN} ended with {child.returncode}")
    wall, after = time.monotonic() - began, os.times()
    record = fanal.open(cwd / "runs" / CAMPAIGN)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "peak_memory_bytes": peak,
        "first_curve_seconds": (first_row_ns(record) - began_ns) / 1e9,
        "stages": stages(record),
        **shares(record),
    }


def launch(cwd: Path, cold_cache: Path | None = None) -> subprocess.Popen[bytes]:
    """Start the campaign in a process of its own."""
    env = dict(os.environ)
    if cold_cache is not None:
        env["JAX_COMPILATION_CACHE_DIR"] = str(cold_cache)
    command = [sys.executable, "-m", "fanal", "run", CAMPAIGN, "--quiet"]
    return subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL)


def watch_memory(child: subprocess.Popen[bytes]) -> int:
    """Peak of the resident memory of the process and its children, until it ends."""
    peak, process = 0, psutil.Process(child.pid)
    while child.poll() is None:
        try:
            family = [process, *process.children(recursive=True)]
            peak = max(peak, sum(p.memory_info().rss for p in family))
        except psutil.NoSuchProcess:
            continue  # a child ended between the two calls
        time.sleep(0.1)
    return peak


def warm_start(cwd: Path) -> float:
    """Seconds from the command to the first new row, after a kill in the first rung."""
    cwd.mkdir()
    folder = cwd / "runs" / CAMPAIGN
    rung = "d32"
    first = launch(cwd)
    wait_for(lambda: last_step(folder, rung) >= WARM_STEP)
    first.send_signal(signal.SIGKILL)
    first.wait()
    began = time.monotonic()
    second = launch(cwd)
    wait_for(lambda: attempt_rows(folder, rung, 2) > 0)
    seconds = time.monotonic() - began
    second.send_signal(signal.SIGKILL)
    second.wait()
    return seconds


def wait_for(seen: Callable[[], bool]) -> None:
    """Poll twenty times a second, for at most five minutes."""
    deadline = time.monotonic() + 300
    while not seen():
        if time.monotonic() > deadline:
            raise SystemExit("not seen within 300 s")
        time.sleep(0.05)


def last_step(folder: Path, run: str) -> int:
    """The last step in the record so far, or −1."""
    if not (folder / "ckpt" / run).is_dir():
        return -1
    steps = fanal.open(folder).runs[run].series("train/loss").steps
    return int(steps[-1]) if len(steps) else -1


def attempt_rows(folder: Path, run: str, attempt: int) -> int:
    """Rows of one attempt."""
    view = fanal.open(folder).runs[run]
    if len(view.attempts) < attempt:
        return 0
    try:
        return len(view.series("train/loss", attempt=attempt).steps)
    except KeyError:  # the attempt has begun and logged nothing yet
        return 0


def first_row_ns(record: Record) -> int:
    """When the first row of any training was written."""
    return min(int(view.series("train/loss").times_ns[0]) for view in record.runs.values())


def stages(record: Record) -> dict[str, dict[str, float]]:
    """Wall and CPU seconds of every stage."""
    assert record.campaign is not None
    ends = record.campaign.events("stage.end")
    return {e.fields["stage"]: {k: e.fields[k] for k in ("seconds", "cpu_seconds")} for e in ends}


def shares(record: Record) -> dict[str, float]:
    """Logging's share of the steps and the evals' share of training, all runs together."""
    assert record.campaign is not None
    ends = [e for e in record.campaign.events("stage.end") if e.fields["stage"].startswith("train/")]
    total = {
        part: sum(e.fields["report"]["seconds"][part] for e in ends) for part in ends[0].fields["report"]["seconds"]
    }
    training = sum(total[part] for part in ("data", "step", "report", "log"))
    parts = {"report": "row_frac_of_step", "log": "log_frac_of_step", "eval": "evals_frac_of_training"}
    return {name: total[part] / training for part, name in parts.items()}
