"""What is public: an allow-list, looked through for secrets before a byte of it leaves."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fanal.errors import RecordError, RefusedError
from fanal.page.public import PublicRecord, unallowed
from fanal.page.publish import publish
from fanal.page.published import PublishOptions
from fanal.page.server import app
from fanal.record.attempt import Start, start
from fanal.record.proof.verify import verify
from fanal.record.secrets import fingerprint
from fanal.record.withhold import Withhold
from tests.worlds.planted import core, planted

SECRET = planted()["artifact"]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def record_with(folder: Path, said: bytes, ended: bool = True) -> Path:
    """A record with an alert whose words are in a blob."""
    run = start(folder, Start(id="one"))
    run.log({"loss": 1.0}, 0)
    run.event("alert", title="Look", text=run.blob(said, "application/octet-stream"), level="info")
    if ended:
        run.finish()
    return folder


def holds(folder: Path, secret: bytes) -> list[str]:
    """The files in which a secret is."""
    return [str(p) for p in folder.rglob("*") if p.is_file() and secret in p.read_bytes()]


@pytest.mark.parametrize(
    "said",
    [
        f"the key is {SECRET}".encode(),
        json.dumps({"deep": [{"x": SECRET}]}).encode(),
        b"\x89PNG\xff\xfe" + SECRET.encode() + b"\0" * 50,
        b"x" * (8 << 20) + b" " + SECRET.encode() + b"y" * 100,
        b"x" * ((8 << 20) - 20) + b" " + SECRET.encode() + b"y" * 100,
    ],
    ids=["text", "json", "binary", "second piece", "across pieces"],
)
def test_a_secret_in_a_blob_stops_the_publish_before_its_first_byte(tmp_path: Path, said: bytes) -> None:
    record = record_with(tmp_path / "record", said)
    with pytest.raises(RefusedError) as refused:
        publish(record, tmp_path / "site")
    assert refused.value.exit_code == 3
    assert core(SECRET).decode() not in str(refused.value)
    assert not (tmp_path / "site").exists()
    marks = [word for word in str(refused.value).split() if word == fingerprint(SECRET)]
    assert marks or "fingerprint" in str(refused.value)


def test_a_finding_can_be_allowed_by_its_fingerprint(tmp_path: Path) -> None:
    record = record_with(tmp_path / "record", f"the key is {SECRET}".encode())
    with pytest.raises(RefusedError, match=f"--allow {fingerprint(SECRET)}"):
        publish(record, tmp_path / "site", PublishOptions(allow=("0" * 12,)))
    report = publish(record, tmp_path / "site", PublishOptions(allow=(fingerprint(SECRET),)))
    assert report.written == report.files
    assert holds(tmp_path / "site", core(SECRET))


def test_a_secret_as_a_metrics_name_stops_it_too(tmp_path: Path) -> None:
    for ended in (False, True):
        run = start(tmp_path / f"record{ended}", Start(id="one"))
        run.log({f"loss {SECRET}": 1.0}, 0)
        if ended:
            run.finish()
        with pytest.raises(RefusedError, match="would be published"):
            publish(tmp_path / f"record{ended}", tmp_path / "site")
        run.finish()


def test_a_secret_that_comes_up_later_stops_there_and_what_was_published_stays(tmp_path: Path) -> None:
    record = tmp_path / "record"
    run = start(record, Start(id="one"))
    run.log({"loss": 1.0}, 0)
    publish(record, tmp_path / "site")
    before = {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    run.event("alert", title="Look", text=run.blob(SECRET.encode(), "application/octet-stream"), level="info")
    with pytest.raises(RefusedError):
        publish(record, tmp_path / "site")
    assert {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()} == before
    run.finish()


def test_a_dry_run_says_what_would_go_and_what_stops_it_and_writes_nothing(tmp_path: Path) -> None:
    record = record_with(tmp_path / "record", f"the key is {SECRET}".encode())
    report = publish(record, tmp_path / "site", PublishOptions(dry_run=True))
    assert report.exit_code == 3
    assert not (tmp_path / "site").exists()
    assert {"index.html", "record/record.json", "manifest.json"} <= {name for name, _ in report.would_write}
    assert core(SECRET).decode() not in json.dumps(report.to_json()) + report.words
    allowed = publish(record, tmp_path / "site", PublishOptions(dry_run=True, allow=(fingerprint(SECRET),)))
    assert allowed.exit_code == 0
    assert publish(record, tmp_path / "site", PublishOptions(allow=(fingerprint(SECRET),))).written == allowed.written


def test_only_blobs_that_public_facts_refer_to_are_public(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one", withhold=(Withhold("event:alert", "not yet"),)))
    hidden = run.blob(b"hidden words", "text/plain")
    shown = run.blob(b"shown words", "text/plain")
    stray = run.blob(b"stray words", "text/plain")
    inner = run.blob(b"inner words", "text/plain")
    table = run.blob(json.dumps({"rows": [[dict(inner)]]}, separators=(",", ":")).encode(), "application/json")
    run.event("alert", title="No", text=hidden, level="info")
    run.event("file", name="a.txt", bytes=11, blob=shown)
    run.event("file", name="t.json", bytes=11, blob=table)
    for ended in (False, True):
        public = PublicRecord(tmp_path / "record")
        public.refresh()
        blobs = {n.removeprefix("blobs/") for n in public.files if n.startswith("blobs/")}
        assert {shown["$blob"], inner["$blob"], table["$blob"]} <= blobs
        assert not {hidden["$blob"], stray["$blob"]} & blobs
        if not ended:
            run.finish()


def test_withheld_writers_are_not_served_either_and_the_page_does_not_show_them(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one", withhold=(Withhold("private/*", "a partner's figures"),)))
    run.log({"loss": 1.0, "private/score": 0.125}, 0)
    run.finish()
    with TestClient(app(tmp_path)) as client:
        manifest = client.get("/record/manifest.json").json()
        withheld = [w for w in manifest["writers"] if "withheld" in w]
        assert [w["withheld"] for w in withheld] == ["a partner's figures"]
        name = "runs/{run}/{attempt}/{writer}".format(**withheld[0])
        assert client.get(f"/record/{name}/owner.json").status_code == 200
        for path in (tmp_path / "record" / name).rglob("*"):
            inside = path.relative_to(tmp_path / "record").as_posix()
            if path.is_file() and path.name != "owner.json":
                assert client.get(f"/record/{inside}").status_code == 404, inside
        view = client.get(f"/{client.get('/manifest.json').json()['view']}").text
        assert "private/score" not in view


def test_a_log_is_served_as_slices_and_never_as_a_file(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one"))
    run.log({"loss": 1.0}, 0)
    with TestClient(app(tmp_path)) as client:
        (one,) = client.get("/record/manifest.json").json()["tails"]
        assert len(client.get(f"/record/tails/{one['sha256']}").content) == one["bytes"]
        name = "runs/{run}/{attempt}/{writer}/log/{log}.log".format(**one)
        assert (tmp_path / "record" / name).is_file()
        assert client.get(f"/record/{name}").status_code == 404
    run.finish()


def test_strangers_in_the_record_and_links_are_no_part_of_it(tmp_path: Path) -> None:
    record = record_with(tmp_path / "record", b"plain words")
    (tmp_path / "secret").write_text("a private file")
    (record / "notes.txt").write_text("mine")
    (record / "blobs" / ("0" * 64)).symlink_to(tmp_path / "secret")
    (record / "runs" / "one" / "1" / "link").symlink_to(tmp_path)
    report = publish(record, tmp_path / "site")
    assert not holds(tmp_path / "site", b"a private file")
    assert not holds(tmp_path / "site", b"mine")
    assert report.missing == ()
    assert verify(tmp_path / "site").ok


def test_a_blob_that_the_record_has_lost_is_named(tmp_path: Path) -> None:
    record = record_with(tmp_path / "record", b"plain words")
    (blob,) = [p for p in (record / "blobs").iterdir() if b"plain words" in p.read_bytes()]
    blob.unlink()
    report = publish(record, tmp_path / "site")
    assert report.missing == (f"blobs/{blob.name}",)
    assert f"missing: blobs/{blob.name}" in report.words


def test_a_segment_that_the_record_has_lost_is_said_with_what_to_do(tmp_path: Path) -> None:
    record = record_with(tmp_path / "record", b"plain words")
    min(record.rglob("*.parquet")).unlink()
    with pytest.raises(RecordError, match="is missing: run `fanal verify`"):
        publish(record, tmp_path / "site")


def test_an_open_log_costs_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(tmp_path / "record", Start(id="one"))
    public = PublicRecord(tmp_path / "record")
    looked: list[str] = []
    monkeypatch.setattr(public, "_fact", lambda where, said: looked.append(where))
    for number in range(5):
        run.event("note", text=f"number {number}", metric=None, author=None)
        public.refresh()
    assert len([where for where in looked if "note" in where]) == 5
    public.refresh()
    assert unallowed(public.findings, ()) == []
    run.finish()
