"""What a machine tells of itself is in its range, and what it does not tell is left out."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from fanal.tracker import proc
from fanal.tracker.proc import Machine, cgroup_memory, process_tree


def test_what_a_machine_tells_is_in_its_range(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first = machine.read()
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    found = machine.read()
    assert {*first, "cpu_share", "process/cpu_cores"} <= set(found)
    assert 0 <= found["cpu_share"] <= 1
    assert 0.1 < found["process/cpu_cores"] <= (os.cpu_count() or 1) + 0.5
    assert 0 < found["memory_used_bytes"] < 1 << 50
    assert 0 <= found["disk/used_share"] <= 1
    assert found["threads"] >= 1


def test_the_tree_of_a_process_holds_its_children() -> None:
    with subprocess.Popen(["sleep", "30"]) as child:
        assert {os.getpid(), child.pid} <= set(process_tree(os.getpid()))
        child.kill()


def test_control_groups_of_both_versions_are_read(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/job/one\n")
    (tmp_path / "job" / "one").mkdir(parents=True)
    (tmp_path / "job" / "one" / "memory.current").write_text("1048576\n")
    (tmp_path / "job" / "one" / "memory.max").write_text("max\n")
    assert cgroup_memory(tmp_path, own) == (1048576.0, None)
    (tmp_path / "job" / "one" / "memory.max").write_text("2097152\n")
    assert cgroup_memory(tmp_path, own) == (1048576.0, 2097152.0)
    own.write_text("5:memory:/two\n4:cpu,cpuacct:/two\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("4096")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(str(1 << 62))
    assert cgroup_memory(tmp_path, own) == (4096.0, None)
    assert cgroup_memory(tmp_path, tmp_path / "none") == (None, None)


def test_without_proc_what_is_known_is_still_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(proc, "PROC", tmp_path / "none")
    machine = Machine(tmp_path)
    machine.read()
    assert {"disk/free_bytes", "threads", "process/cpu_cores"} <= set(machine.read())
    assert "cpu_share" not in machine.read()
