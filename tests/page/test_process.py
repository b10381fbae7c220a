"""The page's server as a child: it has an address before a record, and ends with its parent however that ends."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from fanal.page.process import page_process
from fanal.record.attempt import Start, start
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record


def test_it_serves_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    with page_process(tmp_path / "to-come", 0) as address:
        assert urllib.request.urlopen(address, timeout=10).status == 200


def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from fanal.page.process import page_process\n"
        "with page_process(Path(sys.argv[1]), 0) as address: print(address, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().strip()
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text("utf-8").split()
        assert address.startswith("http://127.0.0.1:")
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(running(int(child)) for child in children):
        assert time.monotonic() < deadline, "the server outlives its parent"
        time.sleep(0.1)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0]


def test_what_is_served_can_be_followed_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    run = start(tmp_path / "record", Start(id="one"))
    with page_process(tmp_path, 0) as address:
        for number in (10, 4210, 4220):
            for step in range({10: 0, 4210: 10, 4220: 4210}[number], number):
                run.log({"loss": 1.0}, step)
            deadline = time.monotonic() + 30
            while True:
                follow(address, tmp_path / "copy", FollowOptions(once=True))
                copied = open_record(tmp_path / "copy").runs
                if "one" in copied and len(copied["one"].series("loss").steps) == number:
                    break
                assert time.monotonic() < deadline
        run.finish()
        follow(address, tmp_path / "copy", FollowOptions(once=True))
    assert verify(tmp_path / "copy").ok
    assert open_record(tmp_path / "copy").runs["one"].series("loss").steps.tolist() == list(range(4220))
