import signal
import subprocess
import sys
from pathlib import Path

import fanal
from fanal.record.attempt import Start, start
from fanal.record.proof.verify import verify

KILLED = """
import os, signal, sys
from pathlib import Path
from fanal.record.attempt import Start, start
run = start(Path(sys.argv[1]), Start(id="hero", config={"lr": 0.1}))
for n in range(213):
    run.log({"loss": 1000.0 + n}, n)
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_the_next_attempt_saves_what_a_killed_one_logged(tmp_path: Path) -> None:
    kill(tmp_path / "r")
    run = start(tmp_path / "r", Start(id="hero", from_step=201))
    view = fanal.open(tmp_path / "r").runs["hero"]
    (recovered,) = view.events("recovered")
    assert recovered.attempt == 2
    assert recovered.fields["frames"] == 217  # start, config, the definition twice, 213 rows
    assert (recovered.fields["torn_bytes"], recovered.fields["damaged_frames"]) == (0, 0)
    assert str(recovered.fields["of_writer"]).startswith("runs/hero/1/")
    assert not list((tmp_path / "r").glob("runs/hero/1/*/log/*"))
    for step in range(201, 230):
        run.log({"loss": float(step)}, step)
    run.finish()
    series = fanal.open(tmp_path / "r").runs["hero"].series("loss")
    assert series.steps.tolist() == list(range(230))
    assert series.values.tolist() == [1000.0 + s for s in range(201)] + [float(s) for s in range(201, 230)]
    assert series.num_superseded == 12
    assert verify(tmp_path / "r").ok


def test_any_run_of_the_record_saves_a_dead_one(tmp_path: Path) -> None:
    kill(tmp_path / "r")
    start(tmp_path / "r", Start(id="other")).finish()
    record = fanal.open(tmp_path / "r")
    assert len(record.runs["other"].events("recovered")) == 1
    assert len(record.runs["hero"].series("loss")) == 213
    assert record.runs["hero"].attempts[0].outcome is None
    assert not list((tmp_path / "r").rglob("*.log"))


def test_a_torn_tail_is_counted_and_left_out(tmp_path: Path) -> None:
    kill(tmp_path / "r")
    log = next((tmp_path / "r").rglob("*.log"))
    data = log.read_bytes()
    log.write_bytes(data[: len(data.rstrip(b"\0")) - 3])
    run = start(tmp_path / "r", Start(id="hero"))
    run.finish()
    view = fanal.open(tmp_path / "r").runs["hero"]
    assert view.events("recovered")[0].fields["torn_bytes"] > 0
    assert len(view.series("loss")) == 212
    assert verify(tmp_path / "r").ok


def test_two_processes_that_save_the_same_writer_do_no_harm(tmp_path: Path) -> None:
    kill(tmp_path / "r")
    code = 'import sys, fanal; fanal.init(dir=sys.argv[1], id=sys.argv[2]); fanal.log({"x": 1.0}); fanal.finish()'
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "r"), f"r{n}"]) for n in range(3)]
    assert [process.wait() for process in both] == [0, 0, 0]
    assert len(fanal.open(tmp_path / "r").runs["hero"].series("loss")) == 213
    report = verify(tmp_path / "r")
    assert report.ok, report.words
