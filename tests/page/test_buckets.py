"""Publishing to an S3 server and following from it, with a host full of faults in between: whole afterwards."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanal.page.buckets
import fanal.record.copies.fetching
from fanal.page.buckets import BucketStore
from fanal.page.publication import Publication
from fanal.page.publish import publish
from fanal.page.published import PublishOptions
from fanal.page.publisher import watch
from fanal.page.stores import StoreError
from fanal.record.attempt import Start, start
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record
from tests.worlds.s3 import BUCKET, s3_host, speaking_to
from tests.worlds.site import faulty_host

ONCE = FollowOptions(once=True)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_host() as address:
        yield address


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(fanal.record.copies.fetching, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(fanal.page.buckets, "FORBIDDEN_PAUSE_SECONDS", 0.01)


def written(folder: Path, rows: int = 50) -> Path:
    """An ended run with a note in a blob."""
    run = start(folder, Start(id="one", name="one"))
    for step in range(rows):
        run.log({"loss": 1.0 / (step + 1), "flag": step % 2 == 0}, step)
    run.event("alert", title="Look", text=run.blob(b"the loss falls", "text/plain"), level="info")
    run.finish()
    return folder


def test_a_record_goes_to_a_bucket_and_back_whole(s3: str, tmp_path: Path) -> None:
    record = written(tmp_path / "record")
    report = publish(record, f"s3://{BUCKET}/whole/run")
    assert report.address == f"{s3}{BUCKET}/whole/run/index.html"
    again = publish(record, f"s3://{BUCKET}/whole/run")
    assert (report.written, again.written) == (report.files, 0)
    followed = follow(f"{s3}{BUCKET}/whole/run/", tmp_path / "copy", ONCE)
    assert followed.exit_code == 0
    assert verify(tmp_path / "copy").ok
    assert open_record(tmp_path / "copy").runs["one"].series("loss").values.tolist() == [1 / s for s in range(1, 51)]


def test_headers_say_what_a_cache_may_keep(s3: str, tmp_path: Path) -> None:
    record = written(tmp_path / "record")
    with faulty_host(s3) as (address, host), speaking_to(address):
        publish(record, f"s3://{BUCKET}/headers")
    prefix = f"/{BUCKET}/headers/"
    for path, headers in host.headers.items():
        name = path.removeprefix(prefix)
        changes = name in ("manifest.json", "record/manifest.json")
        wanted = "s-maxage=1" if changes else "max-age=60" if name == "index.html" else "immutable"
        assert wanted in headers["cache-control"], name
        assert headers["content-type"] != "text/html; charset=utf-8" or name == "index.html", name
    assert len(host.headers) > 20
    puts = [path.removeprefix(prefix) for method, path, _ in host.seen if method == "PUT"]
    assert puts[-3:] == ["index.html", "record/manifest.json", "manifest.json"]


@pytest.mark.parametrize("what", ["cut", "403", "503", "slow", "date", "twice", "lost"])
def test_one_answer_in_five_that_goes_wrong_leaves_everything_whole(s3: str, tmp_path: Path, what: str) -> None:
    record = written(tmp_path / "record")
    dest = f"s3://{BUCKET}/faults-{what}"

    def fault(method: str, path: str, number: int) -> str | None:
        return what if number % 5 == 0 else None

    with faulty_host(s3, fault) as (address, host), speaking_to(address):
        for _ in range(60):
            try:
                publish(record, dest)
                break
            except StoreError:
                continue
        else:
            pytest.fail("never came through")
        followed = follow(f"{address}{BUCKET}/faults-{what}/", tmp_path / "copy", ONCE)
    assert host.number > 40
    assert followed.exit_code == 0, followed.words
    assert verify(tmp_path / "copy").ok
    assert len(open_record(tmp_path / "copy").runs["one"].series("loss").values) == 50


def test_a_reader_never_finds_a_manifest_that_names_what_is_not_there(s3: str, tmp_path: Path) -> None:
    """At every manifest that the store takes, everything it names can be fetched."""
    record = tmp_path / "record"
    run = start(record, Start(id="one"))
    seen: list[int] = []
    publication = Publication(record, f"s3://{BUCKET}/order", PublishOptions())
    put = publication.store.put

    def noted(name: str, body: bytes, headers: dict[str, str]) -> None:
        put(name, body, headers)
        if name == "record/manifest.json":
            copy = tmp_path / f"copy{len(seen)}"
            seen.append(follow(f"{s3}{BUCKET}/order/record", copy, FollowOptions(True, patience_seconds=0)).exit_code)
            assert verify(copy).ok, verify(copy).words

    publication.store.put = noted  # pyright: ignore[reportAttributeAccessIssue]
    for step in range(40):
        run.log({"loss": float(step)}, step)
        if step % 10 == 0:
            publication.round()
    run.finish()
    publication.round()
    assert seen == [0, 0, 0, 0, 0]


def test_a_bucket_that_is_not_there_is_said_in_a_line(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = written(tmp_path / "record", 3)
    with pytest.raises(StoreError, match=r"s3://nobody/run cannot be") as said:
        publish(record, "s3://nobody/run")
    assert "testing" not in str(said.value)
    assert "\n" not in str(said.value)


def test_hours_without_a_network_are_caught_up_in_one_round(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record"
    run = start(record, Start(id="one"))
    down = [True]
    with (
        faulty_host(s3, lambda method, path, number: "lost" if down[0] else None) as (address, _),
        speaking_to(address),
    ):
        monkeypatch.setattr(fanal.page.buckets, "_RETRY", {"max_retries": 0})
        tries: list[float] = []

        def slept(seconds: float) -> None:
            tries.append(seconds)
            run.log({"loss": float(len(tries))}, len(tries))
            if len(tries) == 400:
                down[0] = False
                run.finish()

        monkeypatch.setattr("fanal.page.publisher.time", SimpleNamespace(sleep=slept, monotonic=time.monotonic))
        report = watch(record, f"s3://{BUCKET}/outage", PublishOptions())
    assert tries[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert sum(tries) > 6 * 3600
    assert report.written == report.files
    follow(f"{s3}{BUCKET}/outage", tmp_path / "copy", ONCE)
    assert open_record(tmp_path / "copy").runs["one"].series("loss").steps.tolist() == list(range(1, 401))


def test_a_bucket_lists_gets_puts_and_deletes(s3: str, tmp_path: Path) -> None:
    store = BucketStore(f"s3://{BUCKET}/plain/")
    store.put("a/b.json", b"{}", {"Content-Type": "application/json", "Cache-Control": "no-cache"})
    large = tmp_path / "large"
    large.write_bytes(os.urandom(6 << 20))
    store.put_file("large", large, {"Content-Type": "application/octet-stream"})
    assert {name: one.num_bytes for name, one in store.listed().items()} == {"a/b.json": 2, "large": 6 << 20}
    assert store.get("large") == large.read_bytes()
    assert store.get("absent") is None
    store.delete("a/b.json")
    store.delete("absent")
    assert list(store.listed()) == ["large"]
    assert json.loads(json.dumps(store.name)) == f"s3://{BUCKET}/plain"


@pytest.mark.parametrize(
    ("dest", "address"),
    [
        ("s3://open/run/7", "https://open.s3.eu-west-1.amazonaws.com/run/7/index.html"),
        ("gs://open/run", "https://storage.googleapis.com/open/run/index.html"),
        ("memory:///run", None),
    ],
)
def test_the_address_is_the_buckets_own(dest: str, address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert BucketStore(dest).address == address
