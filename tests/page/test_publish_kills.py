"""Publishing and following, killed at every write, fsync, rename, unlink and put: always whole, ended by the next."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanal.page.publish import publish
from fanal.record.attempt import Run, Start, start
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.proof.redact import redact
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record
from tests.worlds.kills import STOP_AT
from tests.worlds.s3 import BUCKET, s3_host
from tests.worlds.site import file_server

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]
BEFORE, AFTER = 40, 4500
ONCE = FollowOptions(once=True, patience_seconds=0)

TO_FOLDER = f"""
{STOP_AT}
import shutil
from pathlib import Path
from fanal.page.publish import publish

folder = Path(sys.argv[1])

def again(call):
    shutil.copytree(folder / "site", folder / f"site{{call}}")
    return lambda: publish(folder / "record", folder / f"site{{call}}")

print(stop_at_each(again))
"""

TO_BUCKET = f"""
{STOP_AT}
from pathlib import Path
from fanal.page.buckets import BucketStore
from fanal.page.publish import publish

folder = Path(sys.argv[1])
CALLS = ()
MORE = [(BucketStore, "put"), (BucketStore, "delete")]

def again(call):
    return lambda: publish(folder / "record", f"s3://{BUCKET}/kill{{call}}")

print(stop_at_each(again))
"""

FOLLOWING = f"""
{STOP_AT}
import shutil
from pathlib import Path
from fanal.record.copies.follow import FollowOptions, follow

folder, url = Path(sys.argv[1]), sys.argv[2]

def again(call):
    shutil.copytree(folder / "copy", folder / f"copy{{call}}")
    return lambda: follow(url, folder / f"copy{{call}}", FollowOptions(once=True, patience_seconds=0))

print(stop_at_each(again))
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))


class Grown:
    """A record whose first part is published and followed, and what came since: rows, closings, a redaction, a run."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.record, self.address = folder, folder / "record", address
        self.run: Run = start(self.record, Start(id="one"))
        self._log(range(BEFORE))
        taken_back = self.run.blob(b"words to take back", "text/plain")
        self.run.event("alert", title="Look", text=taken_back, level="info")
        publish(self.record, folder / "site")
        follow(address, folder / "copy", ONCE)
        self._log(range(BEFORE, AFTER))
        self.run.event("alert", title="Look", text=self.run.blob(b"words to keep", "text/plain"), level="info")
        redact(self.record, taken_back["$blob"], "not meant to be said")
        other = start(self.record, Start(id="two"))
        other.log({"loss": 1.0}, 0)
        other.finish()
        self.taken_back = taken_back["$blob"]

    def _log(self, steps: range) -> None:
        for step in steps:
            self.run.log({"loss": 1.0 / (step + 1)}, step)

    def hold(self, copy: Path, whole: bool) -> None:
        """What is there verifies, and reads as what was logged, once each and from the beginning on."""
        report = verify(copy)
        assert report.ok, report.words
        series = open_record(copy).runs["one"].series("loss")
        assert series.steps.tolist() == list(range(len(series.steps)))
        assert series.values.tolist() == [1.0 / (step + 1) for step in range(len(series.steps))]
        assert len(series.steps) == AFTER if whole else len(series.steps) >= BEFORE
        if whole:
            assert "two" in open_record(copy).runs
            assert not (copy / "record" / "blobs" / self.taken_back).exists()
            assert not (copy / "blobs" / self.taken_back).exists()


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[Grown]:
    with file_server(tmp_path) as address:
        made = Grown(tmp_path, f"{address}site/")
        yield made
        made.run.finish()


def killed(code: str, *arguments: str) -> int:
    """Run a script that kills its work at each call; how many there were."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def hold_named(site: Path) -> None:
    """Everything that the manifest names is there as it names it; what it does not name yet may be there too."""
    unnamed = ("is no part of the record", "does not name")
    assert not [found for found in verify(site).bad if not any(words in found.what for words in unnamed)]


def test_a_publish_killed_at_any_call_leaves_a_whole_site_which_the_next_completes(grown: Grown) -> None:
    calls = killed(TO_FOLDER, str(grown.folder))
    assert calls > 60
    for call in range(1, calls + 1):
        site, copy = grown.folder / f"site{call}", grown.folder / f"copy{call}"
        hold_named(site)
        follow(grown.address.replace("/site/", f"/site{call}/"), copy, ONCE)
        grown.hold(copy, whole=call == calls)
        publish(grown.record, site)
        assert verify(site).ok, verify(site).words
        if call % 10 == 0:
            follow(grown.address.replace("/site/", f"/site{call}/"), copy, ONCE)
            grown.hold(copy, whole=True)
        shutil.rmtree(copy)
        shutil.rmtree(site)


def test_a_publish_to_a_bucket_killed_at_any_put_leaves_a_site_that_can_be_followed(grown: Grown) -> None:
    with s3_host() as address:
        calls = killed(TO_BUCKET, str(grown.folder))
        assert calls > 30
        for call in range(1, calls + 1):
            copy, url = grown.folder / f"copy{call}", f"{address}{BUCKET}/kill{call}/"
            if call == calls:
                follow(url, copy, ONCE)
                grown.hold(copy, whole=True)
            publish(grown.record, f"s3://{BUCKET}/kill{call}")
            follow(url, copy, ONCE)
            grown.hold(copy, whole=True)
            shutil.rmtree(copy)


def test_following_killed_at_any_call_leaves_a_copy_that_reads_and_is_completed_by_the_next(grown: Grown) -> None:
    publish(grown.record, grown.folder / "site")
    calls = killed(FOLLOWING, str(grown.folder), grown.address)
    assert calls > 60
    for call in range(1, calls + 1):
        copy = grown.folder / f"copy{call}"
        series = open_record(copy).runs["one"].series("loss")
        assert series.steps.tolist() == list(range(len(series.steps)))
        assert len(series.steps) >= BEFORE
        follow(grown.address, copy, ONCE)
        grown.hold(copy, whole=True)
        shutil.rmtree(copy)
