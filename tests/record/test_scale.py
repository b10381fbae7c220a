"""Many calls and many runs in one process: memory and open files stay flat."""

from pathlib import Path

import pytest

import fanal
from fanal.record.proof.verify import verify
from tests.worlds.processes import python

# Prints by round: resident memory (MiB), open files and threads, after so many runs and calls.
MANY = """
import os, sys, threading
from pathlib import Path
from fanal.record.attempt import Start, start

folder, rounds, runs, calls = Path(sys.argv[1]), *map(int, sys.argv[2:])
for _ in range(rounds):
    for _ in range(runs):
        run = start(folder, Start(name="x", config={"lr": 0.1}))
        for step in range(calls):
            run.log({"loss": step / 2, "n": step}, step)
        run.finish()
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20
    print(memory, len(os.listdir("/proc/self/fd")), threading.active_count())
"""


def rounds(folder: Path, num: int, runs: int, calls: int) -> list[list[int]]:
    done = python(MANY, folder, num, runs, calls)
    assert done.returncode == 0, done.stderr
    return [list(map(int, line.split())) for line in done.stdout.splitlines()]


def hold_flat(found: list[list[int]]) -> None:
    first, last = found[0], found[-1]
    assert last[0] - first[0] <= 4, found
    assert last[1:] == first[1:], found


def test_run_after_run_leaves_memory_and_files_flat(tmp_path: Path) -> None:
    hold_flat(rounds(tmp_path / "r", 3, 10, 20))
    record = fanal.open(tmp_path / "r")
    assert list(record.runs) == ["x", *(f"x-{n}" for n in range(2, 31))]
    assert all(view.exact("n") == list(range(20)) for view in record.runs.values())
    assert not list((tmp_path / "r").rglob("*.log"))


def test_call_after_call_leaves_memory_and_files_flat(tmp_path: Path) -> None:
    hold_flat(rounds(tmp_path / "r", 3, 1, 60_000))
    view = fanal.open(tmp_path / "r").runs["x-3"]
    assert view.exact("n") == list(range(60_000))


@pytest.mark.drill
@pytest.mark.timeout(1500)
def test_two_thousand_runs_and_a_million_calls_leave_memory_and_files_flat(tmp_path: Path) -> None:
    hold_flat(rounds(tmp_path / "runs", 4, 500, 5))
    assert len(fanal.open(tmp_path / "runs").runs) == 2000
    assert verify(tmp_path / "runs").ok
    hold_flat(rounds(tmp_path / "calls", 4, 1, 250_000))
    assert fanal.open(tmp_path / "calls").runs["x-4"].exact("n") == list(range(250_000))
