"""Faults of experiment trackers in what is written: rows lost, changed, refused or overwritten; trainings held up."""

import dataclasses
import errno
import json
import math
import os
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import fanal
from fanal.record import layout
from fanal.record.attempt import Start, start
from fanal.record.log import FRAME_BYTES
from fanal.record.proof.verify import verify
from fanal.record.segments import closing
from fanal.record.segments.tail import LogTail
from tests.worlds.disk import may_mount, mounted, remount
from tests.worlds.processes import begin, python


def test_r2_non_finite_values_of_seven_types_are_identical(tmp_path: Path) -> None:
    kinds = (float, np.float16, np.float32, np.float64, np.array, ml_dtypes.bfloat16, jnp.bfloat16)
    run = start(tmp_path / "r", Start(id="a"))
    for value in (math.nan, math.inf, -math.inf):
        for kind in kinds:
            run.log({"v": kind(value)})
    run.finish()
    series = fanal.open(tmp_path / "r").runs["a"].series("v")
    assert [str(v) for v in series.values] == ["nan"] * 7 + ["inf"] * 7 + ["-inf"] * 7
    assert series.steps.tolist() == list(range(21))


def test_r3_infinity_and_the_text_nan_in_a_config_keep_their_types(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", config={"lr": math.inf, "s": "NaN"}))
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.config == {"lr": math.inf, "s": "NaN"}
    assert [type(value) for value in view.config.values()] == [float, str]
    for path in (tmp_path / "r").rglob("*.json*"):
        if path.suffix != ".gz":
            [json.loads(line, parse_constant=_no_constant) for line in path.read_text().splitlines()]
    blobs = [path.read_bytes()[16:] for path in (tmp_path / "r" / "blobs").iterdir()]
    assert [json.loads(blob, parse_constant=_no_constant) for blob in blobs]


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def test_r4_numbers_of_a_config_are_the_same_after_a_resume(tmp_path: Path) -> None:
    config = {"LR": 0.00018805814126031094, "two": 2.0, "n": 2**63 + 1, "big": 10**30}
    for attempt in (1, 2):
        found = config if attempt == 1 else fanal.open(tmp_path / "r").runs["a"].config
        run = start(tmp_path / "r", Start(id="a", config=found))
        run.finish()
    first, second = (attempt.config for attempt in fanal.open(tmp_path / "r").runs["a"].attempts)
    for read in (first, second):
        assert read == config
        assert [(type(read[key]), repr(read[key])) for key in config] == [(type(v), repr(v)) for v in config.values()]


@dataclasses.dataclass
class Dataclass:
    width: int = 3


def test_r5_a_config_of_anything_raises_nothing_and_names_what_is_lossy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config: dict[Any, Any] = {"dt": jnp.bfloat16, "p": Path("x"), "dc": Dataclass(), "arr": np.arange(5000)}
    config |= {"f": lambda: 0, 3: "int key"}
    run = start(tmp_path / "r", Start(id="a", config=config))
    run.finish()
    found: dict[Any, Any] = fanal.open(tmp_path / "r").runs["a"].config
    assert found["p"] == "x"
    assert found["dc"] == {"width": 3}
    assert found["arr"] == list(range(5000))
    assert found[3] == "int key"
    assert "bfloat16" in found["dt"]["$repr"]
    assert "<lambda>" in found["f"]["$repr"]
    assert "event config: kept only as text: dt, f" in capfd.readouterr().err


SHARED = """
import sys
from pathlib import Path
from fanal.record.attempt import Start, start
number, first, last = map(int, sys.argv[2:])
run = start(Path(sys.argv[1]), Start(id="one", shared=True))
print("begun", flush=True)
input()
for n in range(first, last):
    run.log({"loss": number * 10_000 + n}, n)
if last == 500:
    print("half", flush=True)
    input()
run.finish()
"""


def test_r14_eight_processes_one_killed_and_attached_again_lose_and_overwrite_nothing(tmp_path: Path) -> None:
    parts = [(n, 0, 500 if n == 0 else 1000) for n in range(8)]
    writers = [begin(SHARED, tmp_path / "r", *part) for part in parts]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "begun\n"
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert writers[0].stdout is not None
    assert writers[0].stdout.readline() == "half\n"
    writers[0].send_signal(signal.SIGKILL)
    writers[0].communicate()
    again = begin(SHARED, tmp_path / "r", 0, 500, 1000)
    again.communicate("\n")
    for writer in writers[1:]:
        writer.communicate()
    assert [again.returncode, *(writer.returncode for writer in writers[1:])] == [0] * 8
    view = fanal.open(tmp_path / "r").runs["one"]
    series = view.series("loss")
    assert len(set(zip(series.writers.tolist(), series.sequences.tolist(), strict=True))) == 8000
    assert sorted(series.values.tolist()) == [n * 10_000.0 + i for n in range(8) for i in range(1000)]
    assert series.num_overwritten == 0
    assert layout.attempts_of(tmp_path / "r", "one") == [1]
    assert len(layout.writers_of(tmp_path / "r", "one", 1)) == 9
    report = verify(tmp_path / "r")
    assert report.ok, report.words


NO_LOCKS = """
import errno, fcntl
def refuse(*_):
    raise OSError(errno.ENOLCK, "No locks available")
fcntl.flock = fcntl.lockf = refuse
"""


def test_r15_sixteen_writers_where_nothing_can_be_locked(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "sitecustomize.py").write_text(NO_LOCKS)
    code = """
        import fcntl, os, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        try:
            fcntl.flock(0, fcntl.LOCK_SH)
        except OSError:
            pass
        else:
            sys.exit("flock works")
        children = []
        for n in range(16):
            children.append(os.fork())
            if children[-1] == 0:
                run = start(Path(sys.argv[1]), Start(id="one", shared=True))
                for i in range(200):
                    run.log({"x": n * 1000 + i}, i)
                if n % 2:
                    run.finish()
                os._exit(0)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        start(Path(sys.argv[1]), Start(id="two")).finish()
        sys.exit(any(codes))
    """
    done = python(code, tmp_path / "r", path=tmp_path / "locks")
    assert (done.returncode, done.stderr) == (0, "")
    series = fanal.open(tmp_path / "r").runs["one"].series("x")
    assert sorted(series.values.tolist()) == [n * 1000.0 + i for n in range(16) for i in range(200)]
    assert not list((tmp_path / "r").rglob("*.log"))
    report = verify(tmp_path / "r")
    assert report.ok, report.words


def test_r22_names_of_metrics_are_opaque(tmp_path: Path) -> None:
    names = ["length", "__proto__", "", "a.b", "a/b", "[x] y", "损失/训练", "../../etc", "k" * 10_000, "a"]
    names += ["trailing ", "trailing", "\u00e9", "e\u0301", "\u202e\x1b\x00", "\ud800"]
    run = start(tmp_path / "r", Start(id="a"))
    run.log({name: float(n) for n, name in enumerate(names)}, 0)
    for n, name in enumerate(names):
        run.log({name: n + 0.5}, 1)
        run.log({name: f"text {n}"}, 2)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.keys() == names
    assert [view.series(name).values.tolist() for name in names] == [[n, n + 0.5] for n in range(len(names))]
    assert {other.key: other.value for other in view.others()} == {name: f"text {n}" for n, name in enumerate(names)}
    assert {path.name for path in tmp_path.iterdir()} == {"r"}
    assert not [path for path in (tmp_path / "r").rglob("*") if "etc" in path.name or "proto" in path.name]


def test_r23_a_log_cut_at_each_of_its_last_200_bytes_loses_at_most_one_row(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        for n in range(100):
            run.log({"x": n, "y": n / 3}, n)
        os._exit(1)
    """
    assert python(code, tmp_path / "r").returncode == 1
    path = next((tmp_path / "r").rglob("1.log"))
    whole = path.read_bytes().rstrip(b"\0")
    row_bytes = FRAME_BYTES + 14 + 16
    for cut in range(len(whole) - 200, len(whole)):
        path.write_bytes(whole[:cut])
        tail = LogTail(path.parent.parent)
        tail.refresh()
        (group,) = tail.groups.values()
        gone = -(-(len(whole) - cut) // row_bytes)
        assert list(group.steps) == list(range(100 - gone)), cut
        assert not tail.damage
        assert (tail.torn > 0) == ((len(whole) - cut) % row_bytes != 0), cut
    assert len(fanal.open(tmp_path / "r").runs["a"].series("x")) == 99
    run = start(tmp_path / "r", Start(id="a"))  # the next writer begins files of its own
    run.log({"x": 500, "y": 0.5}, 500)
    run.finish()
    assert fanal.open(tmp_path / "r").runs["a"].exact("x") == [*range(99), 500]
    assert verify(tmp_path / "r").ok


def test_r24_a_row_is_there_when_its_process_is_killed_right_after(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        run.log({"last": 0.1}, 7)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert python(code, tmp_path / "r").returncode == -signal.SIGKILL
    view = fanal.open(tmp_path / "r").runs["a"]
    assert (view.series("last").steps.tolist(), view.series("last").values.tolist()) == ([7], [0.1])
    assert view.summary["last"] == 0.1
    assert view.attempts[0].outcome is None


TRAINING = """
import resource, sys
from pathlib import Path
from fanal.record import ring
def limit(num_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))
from fanal.record.attempt import Start, start
ring.RING_BYTES = 200_000
run = start(Path(sys.argv[1]), Start(id="a"))
run.log({"loss": 0.0, "note": "text"}, 0)
if sys.argv[2] == "limit":
    limit(700_000)
for n in range(1, 40_000):
    run.log({"loss": float(n), "n": n}, n)
print("full", flush=True)
if input() == "space":
    limit(resource.RLIM_INFINITY)
    run.log({"loss": -1.0, "n": -1}, 40_000)
run.finish()
"""


@pytest.mark.parametrize("later", ["space", "none"])
def test_r25_a_full_disk_ends_no_training_and_leaves_a_gap(tmp_path: Path, later: str) -> None:
    mounts = may_mount(tmp_path / "disk")  # who may not mount a small disk is limited in the size of files
    with mounted(tmp_path / "disk", "size=1m") if mounts else nullcontext(tmp_path / "disk") as disk:
        training = begin(TRAINING, disk / "r", "mount" if mounts else "limit")
        assert training.stdout is not None
        assert training.stdout.readline() == "full\n"
        if later == "space" and mounts:
            remount(disk, "size=64m")
        training.communicate(f"{later}\n")
        assert training.returncode == 0
        view = fanal.open(disk / "r").runs["a"]
        kept = view.series("loss").steps.tolist()
        if later == "none":
            assert kept == list(range(len(kept)))
            assert len(kept) > 5000
            return
        (gap,) = view.events("gap")
        first, last = gap.fields["first_step"], gap.fields["last_step"]
        assert gap.fields["frames"] == last - first + 1 > 10_000
        assert gap.fields["reason"] == os.strerror(errno.ENOSPC if mounts else errno.EFBIG)
        assert kept == [*range(first), *range(last + 1, 40_001)]
        assert not list(disk.rglob("*.log"))


def test_r25_log_raises_nothing_when_the_closing_process_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanal.record.writer.SYNC_SECONDS", 0.02)
    monkeypatch.setattr("fanal.record.writer.CLOSE_ROWS", 10)
    monkeypatch.setattr("fanal.record.segments.closing.RUN_AS", ("-c", "import os; os.kill(os.getpid(), 9)"))
    closing.stop()
    run = start(tmp_path / "r", Start(id="a"))
    for n in range(200):
        run.log({"x": n}, n)
    run.finish()
    closing.stop()
    monkeypatch.undo()
    assert fanal.open(tmp_path / "r").runs["a"].exact("x") == list(range(200))


def test_r28_a_row_of_4000_keys_keeps_every_key(tmp_path: Path) -> None:
    names = [f"layer_{n // 20:03d}/grad_norm_{n % 20:02d}" for n in range(4000)]
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(30):
        run.log({name: n + step / 32 for n, name in enumerate(names)}, step)
    for n, name in enumerate(names[:50]):
        run.log({name: float(n)}, 100)  # one call a key
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.keys() == names
    for n in (0, 49, 50, 1234, 3999):
        assert view.series(names[n]).values.tolist() == [n + s / 32 for s in range(30)] + ([float(n)] if n < 50 else [])


def test_r32_eight_threads_a_fork_and_their_rows_are_all_there(tmp_path: Path) -> None:
    code = """
        import os, sys, threading
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        def work(n):
            for i in range(1000):
                run.log({"x": n * 1000 + i, f"t{n}": i}, n * 1000 + i)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        if os.fork() == 0:
            for i in range(10):
                run.log({"child": i}, i)
            sys.exit()
        os.wait()
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert (done.returncode, done.stderr) == (0, "")
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.exact("x") == list(range(8000))
    assert [view.exact(f"t{n}") for n in range(8)] == [list(range(1000))] * 8
    assert view.exact("child") == list(range(10))
    assert verify(tmp_path / "r").ok
