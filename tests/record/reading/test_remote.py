"""A published record at an address, on loopback: lazily, each file once, each held against its hash."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.errors import RecordError
from fanal.page.publish import publish
from fanal.record import log
from fanal.record.attempt import Start, Withhold, journal, start
from fanal.record.copies import fetching
from fanal.record.copies.fetching import Address
from fanal.record.files import seal
from fanal.record.reading.read import Record
from fanal.record.reading.remote import Remote
from fanal.record.run import Run
from fanal.record.segments import segment
from tests.worlds.host import Host, serving

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of the test's own, and short pauses between tries."""
    monkeypatch.setenv("FANAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(segment._PAGES, "get", lambda name: None)  # the publisher, here in this process, read them


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    (tmp_path / "site").mkdir()
    with serving(tmp_path / "site") as found:
        yield found


def begin(tmp_path: Path, steps: int) -> Run:
    """A run at work that has logged so many rows, one group of 4,096 closed at most, all of it published."""
    run = start(tmp_path / "r", Start(id="a", config={"lr": 0.1}, withhold=(Withhold("secret/*", "under review"),)))
    go_on(tmp_path, run, range(steps))
    return run


def go_on(tmp_path: Path, run: Run, steps: range) -> None:
    for step in steps:
        run.log({"x": step / 2, "y": float(step), "secret/z": 1.0}, step)
    publish(tmp_path / "r", tmp_path / "site")


def check(record: Record, steps: int) -> None:
    series = record.runs["a"].series("x")
    assert series.steps.tolist() == list(range(steps))
    assert series.values.tolist() == [step / 2 for step in range(steps)]


def names(asked: list[str]) -> list[str]:
    return sorted({name.rpartition("/")[2] for name in asked})


def test_a_live_record_opens_at_its_page_and_at_its_folder(tmp_path: Path, host: Host) -> None:
    run = begin(tmp_path, 50)
    for url in (host.url, f"{host.url}record", f"{host.url}index.html"):
        record = fanal.open(url)
        check(record, 50)
        assert record.address == f"{host.url}record/"
        assert record.runs["a"].config == {"lr": 0.1}
    run.finish()


def test_value_files_are_fetched_when_first_asked_for_and_once(tmp_path: Path, host: Host) -> None:
    begin(tmp_path, 60).finish()
    publish(tmp_path / "r", tmp_path / "site")
    record = fanal.open(host.url)
    assert record.runs["a"].keys() == ["x", "y"]
    assert record.runs["a"].attempts[0].outcome == "finished"
    opening = names(host.taken())
    assert not [name for name in opening if "values" in name or "rows" in name or "tiles" in name]
    check(record, 60)
    assert names(host.taken()) == ["1.rows0.parquet", "1.values0.parquet"]
    check(record, 60)
    assert host.taken() == []


def test_a_refresh_fetches_only_what_is_new(tmp_path: Path, host: Host) -> None:
    run = begin(tmp_path, 40)
    record = fanal.open(host.url)
    check(record, 40)
    go_on(tmp_path, run, range(40, 70))
    host.taken()
    assert record.refresh()
    asked = host.taken()
    assert len(asked) == 2
    assert asked[0].endswith("/record/manifest.json")
    assert "/record/tails/" in asked[1]
    check(record, 70)
    assert not record.refresh()
    assert host.taken() == ["/record/manifest.json"]
    run.finish()
    publish(tmp_path / "r", tmp_path / "site")
    assert record.refresh()
    asked = [name for name in names(host.taken()) if name != "owner.json"]  # of the withheld writer
    assert asked == ["1.facts0.jsonl", "1.json", "1.names0.json.gz", "manifest.json"]
    check(record, 70)
    assert not list((tmp_path / "cache").rglob("*.log"))


def test_a_second_opening_fetches_the_manifest_alone(tmp_path: Path, host: Host) -> None:
    begin(tmp_path, 30).finish()
    publish(tmp_path / "r", tmp_path / "site")
    check(fanal.open(host.url), 30)
    host.taken()
    check(fanal.open(host.url), 30)
    assert host.taken() == ["/manifest.json", "/record/manifest.json"]


def test_what_is_withheld_is_named_and_not_there(tmp_path: Path, host: Host) -> None:
    begin(tmp_path, 30).finish()
    publish(tmp_path / "r", tmp_path / "site")
    view = fanal.open(host.url).runs["a"]
    assert list(view.withheld.values()) == ["under review"]
    with pytest.raises(KeyError, match="no key 'secret/z'"):
        view.series("secret/z")


@pytest.mark.parametrize("fault", ["503", "cut", "alter"])
def test_each_file_is_asked_for_again_until_it_is_whole(tmp_path: Path, host: Host, fault: str) -> None:
    run = begin(tmp_path, 20)
    host.fault = lambda path, before: fault if before == 0 and not path.endswith("manifest.json") else None
    record = fanal.open(host.url)
    check(record, 20)
    run.finish()
    publish(tmp_path / "r", tmp_path / "site")
    record.refresh()
    check(record, 20)


def test_a_file_that_stays_altered_is_named_and_never_read(tmp_path: Path, host: Host) -> None:
    begin(tmp_path, 20).finish()
    publish(tmp_path / "r", tmp_path / "site")
    host.fault = lambda path, before: "alter" if path.endswith("values0.parquet") else None
    record = fanal.open(host.url)
    with pytest.raises(RecordError, match=r"values0\.parquet has changed since it was written"):
        record.runs["a"].series("x")
    host.fault = lambda path, before: None
    check(record, 20)


def test_an_address_that_holds_another_record_by_now_is_said(tmp_path: Path, host: Host) -> None:
    begin(tmp_path, 20).finish()
    publish(tmp_path / "r", tmp_path / "site")
    record = fanal.open(host.url)
    other = start(tmp_path / "other", Start(id="a"))
    other.finish()
    publish(tmp_path / "other", tmp_path / "site2")
    (tmp_path / "site" / "record").rename(tmp_path / "away")
    (tmp_path / "site2" / "record").rename(tmp_path / "site" / "record")
    with pytest.raises(RecordError, match="holds another record by now"):
        record.refresh()
    assert fanal.open(host.url).runs["a"].keys() == []


@pytest.mark.parametrize("name", ["../../../../out", "/tmp/out", ".."])
def test_a_host_cannot_name_a_file_outside_the_record(tmp_path: Path, host: Host, name: str) -> None:
    begin(tmp_path, 5).finish()
    publish(tmp_path / "r", tmp_path / "site")
    remote = Remote(Address(f"{host.url}record"))
    (tmp_path / "cache" / "out").write_text("mine")
    for path in (remote.folder / name / "x", remote.folder / "runs" / ".." / ".." / name):
        with pytest.raises(RecordError, match="names a file outside the record"):
            remote.fetch(path, "0" * 64)
    with pytest.raises(RecordError, match="names a file outside the record"):
        remote.drop_blobs(["../../../out"])
    manifest = tmp_path / "site" / "record" / "manifest.json"
    fields = json.loads(manifest.read_bytes())
    fields.pop("self")
    fields["writers"] = [{**entry, "run": name, "writer": "../../../../.."} for entry in fields["writers"]]
    manifest.write_bytes(seal(fields))
    with pytest.raises(RecordError, match=r"manifest\.json .* names no writer's folder"):
        fanal.open(host.url)
    assert (tmp_path / "cache" / "out").read_text() == "mine"


def test_a_redacted_blob_goes_from_what_is_kept_here(tmp_path: Path, host: Host) -> None:
    run = begin(tmp_path, 5)
    record = fanal.open(host.url)
    assert record.runs["a"].config == {"lr": 0.1}
    name = record.runs["a"].events("config")[0].fields["config"]["$blob"]
    assert list((tmp_path / "cache").rglob(name))
    with journal(tmp_path / "r") as notes:
        notes.event("redaction", blob=name, reason="a token was in it")
    (tmp_path / "r" / "blobs" / name).unlink()
    publish(tmp_path / "r", tmp_path / "site")
    record.refresh()
    assert not list((tmp_path / "cache").rglob(name))
    with pytest.raises(RecordError, match="redacted: a token was in it"):
        _ = record.runs["a"].config
    run.finish()


def test_a_site_that_was_copied_as_it_is_reads_like_its_address(tmp_path: Path, host: Host) -> None:
    run = begin(tmp_path, 40)
    for folder in (tmp_path / "site", tmp_path / "site" / "record"):
        record = fanal.open(folder)
        check(record, 40)
        assert record.runs["a"].config == {"lr": 0.1}
    go_on(tmp_path, run, range(40, 60))
    assert record.refresh()
    check(record, 60)
    assert not record.refresh()
    run.finish()
    assert host.taken() == []


def test_an_address_without_a_record_is_said(tmp_path: Path, host: Host) -> None:
    with pytest.raises(RecordError, match="is no record"):
        fanal.open(host.url)
    with pytest.raises(RecordError, match="is no record"):
        fanal.open(f"{host.url}nowhere/")


def test_two_readers_of_one_cache_take_each_slice_once(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other reader is quicker between any two steps of the first: here while that one fetches a slice."""
    run = begin(tmp_path, 20)
    first, second = fanal.open(host.url), fanal.open(host.url)
    go_on(tmp_path, run, range(20, 50))
    checked, done = Remote._checked, list[str]()

    def overtaken(self: Remote, name: str, wanted: str) -> bytes:
        if name.startswith("tails/") and not done:
            done.append(name)
            second.refresh()
        return checked(self, name, wanted)

    monkeypatch.setattr(Remote, "_checked", overtaken)
    first.refresh()
    assert done
    for record in (first, second, fanal.open(host.url)):
        check(record, 50)
    go_on(tmp_path, run, range(50, 60))
    for record in (second, first, fanal.open(host.url)):
        record.refresh()
        check(record, 60)
    run.finish()


def test_a_reader_that_is_behind_drops_no_log_of_one_that_is_ahead(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_FILE_BYTES", 32 << 10)
    run = begin(tmp_path, 20)
    behind, ahead = fanal.open(host.url), fanal.open(host.url)
    go_on(tmp_path, run, range(20, 30))
    take, done = Remote._take_tails, list[int]()

    def overtaken(self: Remote, slices: Any) -> None:
        if not done:
            done.append(1)
            go_on(tmp_path, run, range(30, 3000))
            ahead.refresh()
        take(self, slices)

    monkeypatch.setattr(Remote, "_take_tails", overtaken)
    behind.refresh()
    assert len(list((tmp_path / "cache").rglob("*.log"))) > 2
    assert Record(ahead.path).runs["a"].series("x").steps.tolist() == list(range(3000))
    for record in (behind, ahead, fanal.open(host.url)):
        record.refresh()
        check(record, 3000)
    run.finish()
    publish(tmp_path / "r", tmp_path / "site")
    behind.refresh()
    assert not list((tmp_path / "cache").rglob("*.log"))


def test_a_log_in_the_cache_that_is_not_what_its_slices_say_is_put_right(tmp_path: Path, host: Host) -> None:
    run = begin(tmp_path, 30)
    check(fanal.open(host.url), 30)
    path = next((tmp_path / "cache").rglob("*.log"))
    data = bytearray(path.read_bytes())
    data[-300:] = bytes(300)
    path.write_bytes(data)
    check(fanal.open(host.url), 30)
    run.finish()
