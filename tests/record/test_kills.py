"""The process that logs killed at each of its calls that change names or files: what it had logged is there, once."""

from pathlib import Path

import pytest

import fanal
from fanal.record.attempt import Start, start
from fanal.record.proof.verify import verify
from fanal.record.segments import closing
from tests.worlds.processes import python

# Begins a run in a new record, logs, and ends, in forked children that stop at the k-th call; prints for each how many
# rows it had logged, and "end" for the one that came through.
KILL = """
import os, sys
from pathlib import Path
from fanal.record import log
from fanal.record.attempt import Start, Withhold, start

folder, write = Path(sys.argv[1]), os.write
log.MAX_FILE_BYTES = 20_000

def stop_at(call):
    left = [call]
    def counted(function):
        def wrapper(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return function(*arguments, **named)
        return wrapper
    for name in ("fsync", "replace", "unlink", "write", "pwrite", "rename", "mkdir", "rmdir", "link"):
        setattr(os, name, counted(getattr(os, name)))

def work(place, told):
    run = start(place, Start(id="a", config={"lr": 0.1}, withhold=(Withhold("private/*", "a reason"),)))
    for n in range(300):
        run.log({"x": n / 7, "n": n, "big": 2**60 + n}, n)
        write(told, b"r")
        if n % 100 == 50:
            run.log({"private/y": float(n), "t": "text"}, n)
            run.event("note", text="words", step=n)
            run.blob(b"x" * 1000, "text/plain")
    write(told, b"f")
    run.finish()
    write(told, b"e")

call = 0
while True:
    call += 1
    read, told = os.pipe()
    if os.fork() == 0:
        stop_at(call)
        work(folder / str(call), told)
        os._exit(0)
    os.close(told)
    said = b""
    while more := os.read(read, 4096):
        said += more
    os.close(read)
    print(said.count(b"r"), said[-1:].decode())
    if os.waitstatus_to_exitcode(os.wait()[1]) == 0:
        break
"""


@pytest.mark.drill
def test_a_process_killed_at_any_call_of_its_life_loses_no_row_it_had_logged(tmp_path: Path) -> None:
    done = python(KILL, tmp_path)
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    assert told[-1] == ["300", "e"]
    assert len({int(rows) for rows, *_ in told}) > 5
    for call, (rows, *_) in enumerate(told, 1):
        folder = tmp_path / str(call)
        before = folder.exists() and (folder / "record.json").exists()
        if before:
            report = verify(folder)
            assert report.ok, (call, report.words)
        run = start(folder, Start(id="a", from_step=1000))
        run.log({"after": 1.0}, 1000)
        run.finish()
        view = fanal.open(folder).runs["a"]
        kept = view.exact("n") if "n" in view.keys() else []  # noqa: SIM118  it is no dict
        assert kept == list(range(len(kept))), call
        assert len(kept) in (int(rows), int(rows) + 1), call
        assert view.series("after").values.tolist() == [1.0]
        assert not list(folder.rglob("*.log")), call
        report = verify(folder)
        assert report.ok, (call, report.words)
    closing.stop()
