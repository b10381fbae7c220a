import os
import subprocess
import sys
import time
from pathlib import Path

from fanal.record.attempt import Start, start
from fanal.record.layout import WriterPath, all_writers
from fanal.record.owner import SILENT_SECONDS, is_alive, owner_fields, process_start, withheld_reason
from fanal.record.withhold import Withhold


def writer(tmp_path: Path) -> WriterPath:
    place = WriterPath(tmp_path, "r", 1, "w")
    (place.folder / "log").mkdir(parents=True, exist_ok=True)
    (place.folder / "log" / "1.log").write_bytes(b"x")
    return place


def test_this_process_lives(tmp_path: Path) -> None:
    assert is_alive(owner_fields(0, "1"), writer(tmp_path))


def test_another_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    assert not is_alive(owner_fields(0, "1") | {"process_start": "1"}, writer(tmp_path))


def test_a_process_that_has_ended_is_dead_also_before_it_is_reaped(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = owner_fields(0, "1") | {"pid": child.pid, "process_start": process_start(child.pid)}
    assert is_alive(owner, writer(tmp_path))
    child.kill()
    while process_start(child.pid) is not None:
        time.sleep(0.01)
    assert not is_alive(owner, writer(tmp_path))
    child.communicate()
    assert not is_alive(owner, writer(tmp_path))


def test_a_process_elsewhere_lives_while_its_log_changes(tmp_path: Path) -> None:
    place = writer(tmp_path)
    owner = owner_fields(0, "1") | {"place": "another machine", "pid": 1}
    assert is_alive(owner, place)
    long_ago = time.time() - SILENT_SECONDS - 1
    os.utime(place.folder / "log" / "1.log", (long_ago, long_ago))
    assert not is_alive(owner, place)


def test_the_owner_file_names_no_host_path_or_person() -> None:
    fields = owner_fields(5, "1.0")
    assert set(fields) == {"pid", "process_start", "place", "created_ns", "fanal"}
    said = " ".join(map(str, fields.values()))
    assert os.uname().nodename not in said
    assert str(Path.cwd()) not in said


def test_why_a_writer_is_withheld_is_in_its_owner_file(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one", withhold=(Withhold("private", "a partner's figures"),)))
    run.log({"loss": 1.0, "private": 2.0}, 0)
    run.finish()
    assert sorted(str(withheld_reason(place)) for place in all_writers(tmp_path / "record")) == [
        "None",
        "a partner's figures",
    ]
    assert withheld_reason(WriterPath(tmp_path / "record", "one", 1, "nobody")) == "it has no owner file"
    (owner,) = [p.folder / "owner.json" for p in all_writers(tmp_path / "record") if withheld_reason(p) is None]
    owner.write_bytes(owner.read_bytes().replace(b"one", b"two"))
    assert "its owner file is damaged" in [withheld_reason(place) for place in all_writers(tmp_path / "record")]
