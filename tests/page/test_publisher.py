"""The publisher: goes on while somebody writes, survives the training, ends with it, and is alone at its work."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanal.page.publisher
import fanal.page.stores
from fanal.errors import RefusedError
from fanal.page.published import PublishOptions, PublishReport
from fanal.page.publisher import WatchOptions, is_written, watch
from fanal.page.stores import StoreError
from fanal.record.attempt import Run, Start, start
from fanal.record.copies.publishing import alone, work_of
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record
from fanal.record.secrets import scan
from tests.worlds.planted import planted

TRAINING = """
import os, signal, sys, time
from pathlib import Path
from fanal.record.copies import publishing
from fanal.record.attempt import Start, start
record, dest = Path(sys.argv[1]), sys.argv[2]
run = start(record, Start(id="one"))
words = publishing.start(record, dest)
for step in range(200):
    run.log({"loss": 1.0 / (step + 1)}, step)
    if step == 100:
        deadline = time.monotonic() + 60
        while not (Path(dest) / "record" / "manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
print(words, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    opened = start(tmp_path / "record", Start(id="one"))
    yield opened
    opened.finish()


def test_it_survives_the_trainings_death_publishes_the_rest_and_ends(tmp_path: Path) -> None:
    record, site = tmp_path / "record", tmp_path / "site"
    done = subprocess.run([sys.executable, "-c", TRAINING, str(record), str(site)], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    words = Path(done.stdout.strip())
    deadline = time.monotonic() + 60
    while "see it at" not in words.read_text() and "serve it" not in words.read_text():
        assert time.monotonic() < deadline, words.read_text()
        time.sleep(0.05)
    assert verify(site).ok
    manifest = json.loads((site / "record" / "manifest.json").read_bytes())
    assert max(one["last_sequence"] for one in manifest["tails"]) >= 200
    assert words.read_text().splitlines()[0] == str(site)
    with alone(work_of(record, str(site))):
        pass  # it has ended, and given its place back


def test_it_ends_when_the_run_has_ended_and_holds_everything(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    def slept(seconds: float) -> None:
        steps.append(len(steps))
        run.log({"loss": 1.0}, len(steps))
        if len(steps) == 20:
            run.finish()

    monkeypatch.setattr(fanal.page.publisher, "time", SimpleNamespace(sleep=slept, monotonic=time.monotonic))
    report = watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions(address="https://example.org/run/"))
    assert report.address == "https://example.org/run/"
    assert len(steps) == 20
    assert len(open_record(tmp_path / "site" / "record").runs["one"].series("loss").steps) == 20


def test_it_looks_at_half_the_runs_pace_between_half_a_second_and_ten(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row every 6 s: it settles on looking every 3 s; then one every 200 s: every 10 s."""
    clock, pauses, rows = [0.0], [], [0.0]

    def slept(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds
        if clock[0] > 1500:
            run.finish()
        between = 6.0 if clock[0] < 300 else 200.0
        if clock[0] - rows[0] >= between:
            rows[0] = clock[0]
            run.log({"loss": 1.0}, len(pauses))

    monkeypatch.setattr(fanal.page.publisher, "time", SimpleNamespace(sleep=slept, monotonic=lambda: clock[0]))
    watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions())
    settled = [pause for pause, at in zip(pauses, range(len(pauses)), strict=True) if 60 < at < 90]
    assert pauses[0] == 0.5
    assert 2.0 < sum(settled) / len(settled) < 5.0
    assert pauses[-1] == 10.0


def test_an_ended_record_is_published_in_one_round_and_watching_goes_on(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.finish()
    pauses: list[float] = []

    def slept(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise StopIteration

    monkeypatch.setattr(fanal.page.publisher, "time", SimpleNamespace(sleep=slept, monotonic=time.monotonic))
    assert watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions()).written > 10
    assert pauses == []
    with pytest.raises(StopIteration):
        watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions(), WatchOptions(forever=True))
    assert len(pauses) == 5


def test_a_second_publisher_of_the_same_is_refused_and_one_to_elsewhere_is_not(tmp_path: Path, run: Run) -> None:
    run.finish()
    record, site = tmp_path / "record", tmp_path / "site"
    with alone(work_of(record, str(site))):
        with pytest.raises(RefusedError, match="another process is there to publish"):
            watch(record, str(site), PublishOptions())
        assert watch(record, str(tmp_path / "other"), PublishOptions()).written > 10


def test_a_secret_ends_it_with_code_three_and_without_the_secret(
    tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = planted()["notes"]
    run.event("alert", title="Look", text=run.blob(secret.encode(), "application/octet-stream"), level="info")
    run.finish()
    code = (
        f"import fanal.page.publisher as p, sys; sys.exit(p.main({[str(tmp_path / 'record'), str(tmp_path / 'site')]}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 3
    assert "--allow" in done.stderr
    assert secret not in done.stderr + done.stdout
    assert not (tmp_path / "site").exists()


def test_a_started_publisher_takes_what_is_allowed_from_the_environment(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = planted()["notes"]
    run.event("alert", title="Look", text=run.blob(secret.encode(), "application/octet-stream"), level="info")
    run.finish()
    monkeypatch.setattr(os, "nice", lambda by: by)
    monkeypatch.setenv("FANAL_PUBLISH_ALLOW", f"{scan(secret)[0].fingerprint}, 0123456789ab,")
    assert fanal.page.publisher.main([str(tmp_path / "record"), str(tmp_path / "site")]) == 0
    assert "--allow 0123456789ab matches no secret that was found" in capsys.readouterr().err


@pytest.mark.parametrize(("times", "is_said"), [(2, False), (3, True)])
def test_a_log_that_was_closed_meanwhile_is_tried_again_without_a_word(
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    times: int,
    is_said: bool,
) -> None:
    run.finish()
    whole = fanal.page.publisher.Publication.round
    pauses: list[float] = []

    def gone(self: fanal.page.publisher.Publication) -> PublishReport:
        if len(pauses) < times:
            raise FileNotFoundError(2, "No such file or directory", "1.log")
        return whole(self)

    monkeypatch.setattr(fanal.page.publisher.Publication, "round", gone)
    monkeypatch.setattr(fanal.page.publisher, "time", SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic))
    assert watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions()).written > 10
    said = capsys.readouterr().err
    assert ("1.log" in said, "up to date again" in said) == (is_said, is_said)


def test_a_second_publisher_is_refused_though_it_writes_the_place_another_way(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.finish()
    monkeypatch.chdir(tmp_path)
    with alone(work_of(tmp_path / "record", str(tmp_path / "site"))), pytest.raises(RefusedError, match="another"):
        watch(tmp_path / "record", "site", PublishOptions())


def test_a_destination_in_trouble_is_tried_again_and_said_once(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run.finish()
    put = fanal.page.stores.FolderStore.put
    pauses: list[float] = []

    def failing(self: fanal.page.stores.FolderStore, name: str, body: bytes, headers: dict[str, str]) -> None:
        if len(pauses) < 9 and name == "index.html":
            raise StoreError(f"{name} cannot be written: no space left")
        put(self, name, body, headers)

    monkeypatch.setattr(fanal.page.stores.FolderStore, "put", failing)
    monkeypatch.setattr(fanal.page.publisher, "time", SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic))
    watch(tmp_path / "record", str(tmp_path / "site"), PublishOptions())
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "no space left" in line] == [
        "fanal: index.html cannot be written: no space left; trying again until it works"
    ]
    assert said[-2].endswith("is up to date again")
    assert verify(tmp_path / "site").ok


def test_who_writes_is_known_by_the_living(tmp_path: Path, run: Run) -> None:
    assert is_written(tmp_path / "record")
    run.finish()
    assert not is_written(tmp_path / "record")
