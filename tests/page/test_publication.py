"""Rounds of publishing: what goes, in which order, what is taken away and when, and what is never touched."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanal.page.publication
from fanal.errors import RecordError, RefusedError
from fanal.page.publication import KEPT_SECONDS, Publication
from fanal.page.publish import publish
from fanal.page.published import PublishOptions
from fanal.record.attempt import Run, Start, start
from fanal.record.proof.key_commands import key_new
from fanal.record.proof.redact import redact
from fanal.record.proof.verify import verify
from fanal.record.secrets import scan
from tests.worlds.planted import planted


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    opened = start(tmp_path / "record", Start(id="one"))
    opened.log({"loss": 1.0}, 0)
    yield opened
    opened.finish()


def slices(site: Path) -> set[str]:
    return {p.name for p in (site / "record" / "tails").iterdir()}


def test_slices_go_an_hour_after_no_manifest_names_them(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(
        fanal.page.publication, "time", SimpleNamespace(monotonic=lambda: clock[0], time=lambda: clock[0])
    )
    publication = Publication(tmp_path / "record", str(tmp_path / "site"), PublishOptions())
    publication.round()
    first = slices(tmp_path / "site")
    run.finish()
    publication.round()
    made = {p.name for p in (tmp_path / "site" / "record" / "blobs").iterdir()}
    clock[0] += KEPT_SECONDS
    publication.round()
    assert slices(tmp_path / "site") == first
    clock[0] += 1
    publication.round()
    assert slices(tmp_path / "site") == set()
    assert made == {p.name for p in (tmp_path / "site" / "record" / "blobs").iterdir()}
    assert verify(tmp_path / "site").ok


def test_what_an_earlier_publisher_left_goes_by_the_destinations_own_clock(tmp_path: Path, run: Run) -> None:
    site = tmp_path / "site"
    publish(tmp_path / "record", site)
    run.finish()
    publish(tmp_path / "record", site)
    left = slices(site)
    other = start(tmp_path / "record", Start(id="two"))
    publish(tmp_path / "record", site)
    assert slices(site) > left, "the manifest that dropped them is young"
    manifest = site / "record" / "manifest.json"
    old = manifest.stat().st_mtime - KEPT_SECONDS - 10
    os.utime(manifest, (old, old))
    other.finish()
    publish(tmp_path / "record", site)
    assert not slices(site) & left
    assert verify(site).ok


def test_blobs_that_were_made_for_an_older_manifest_go_with_the_slices(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(
        fanal.page.publication, "time", SimpleNamespace(monotonic=lambda: clock[0], time=lambda: clock[0])
    )
    run.finish()
    publication = Publication(tmp_path / "record", str(tmp_path / "site"), PublishOptions())
    publication.round()
    partial = json.loads((tmp_path / "site" / "record" / "manifest.json").read_bytes())["tree"]["partial"]
    start(tmp_path / "record", Start(id="two")).finish()
    publication.round()
    assert (tmp_path / "site" / "record" / "blobs" / partial).exists()
    clock[0] += KEPT_SECONDS + 1
    publication.round()
    assert not (tmp_path / "site" / "record" / "blobs" / partial).exists()
    assert verify(tmp_path / "site").ok


def test_a_redacted_blob_goes_at_once_and_a_strangers_file_stays(tmp_path: Path, run: Run) -> None:
    said = run.blob(b"a telephone number", "text/plain")
    run.event("alert", title="Call", text=said, level="info")
    publish(tmp_path / "record", tmp_path / "site")
    there = tmp_path / "site" / "record" / "blobs" / said["$blob"]
    assert there.exists()
    (tmp_path / "site" / "CNAME").write_text("example.org")
    redact(tmp_path / "record", said["$blob"], "a private number")
    publish(tmp_path / "record", tmp_path / "site")
    assert not there.exists()
    assert (tmp_path / "site" / "CNAME").exists()


def test_a_redacted_blob_goes_though_another_secret_stops_the_rest(tmp_path: Path, run: Run) -> None:
    said = run.blob(b"a telephone number", "text/plain")
    run.event("alert", title="Call", text=said, level="info")
    site = tmp_path / "site"
    publish(tmp_path / "record", site)
    redact(tmp_path / "record", said["$blob"], "a private number")
    other = run.blob(planted()["notes"].encode(), "application/octet-stream")
    run.event("alert", title="Look", text=other, level="info")
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    with pytest.raises(RefusedError, match=r"nothing was written \(1 redacted blob taken away there all the same\)"):
        publish(tmp_path / "record", site)
    del before[site / "record" / "blobs" / said["$blob"]]
    assert {p: p.read_bytes() for p in site.rglob("*") if p.is_file()} == before


def test_an_allowed_fingerprint_that_matches_nothing_is_said(tmp_path: Path, run: Run) -> None:
    secret = planted()["notes"]
    run.event("alert", title="Look", text=run.blob(secret.encode(), "application/octet-stream"), level="info")
    nothing = "--allow 0123456789ab matches no secret that was found"
    with pytest.raises(RefusedError, match=nothing):
        publish(tmp_path / "record", tmp_path / "site", PublishOptions(allow=("0123456789ab",)))
    (found,) = {one.fingerprint for one in scan(secret)}
    report = publish(tmp_path / "record", tmp_path / "site", PublishOptions(allow=(found, "0123456789ab")))
    assert report.unused == ("0123456789ab",)
    assert nothing in report.words


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("file", ["1.rows*", "1.values*", "1.facts*", "1.names*"])
def test_an_altered_file_of_a_segment_is_named_and_nothing_that_depends_on_it_is_sent(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, file: str, large: bool
) -> None:
    publish(tmp_path / "record", tmp_path / "site")
    if large:
        monkeypatch.setattr(fanal.page.publication, "LARGE_BYTES", 1)
    run.finish()
    before = {p.name: p.read_bytes() for p in (tmp_path / "site").rglob("*manifest.json")}
    path = min((tmp_path / "record").rglob(f"runs/one/**/seg/{file}"))
    whole = path.read_bytes()
    for altered in (whole + b"x", whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(altered)
        with pytest.raises(RecordError, match=f"{re.escape(str(path))} has changed since it was closed"):
            publish(tmp_path / "record", tmp_path / "site")
        assert not list((tmp_path / "site").rglob("seg/1.json"))
        assert {p.name: p.read_bytes() for p in (tmp_path / "site").rglob("*manifest.json")} == before
    path.write_bytes(whole)
    publish(tmp_path / "record", tmp_path / "site")
    assert verify(tmp_path / "site").ok


def test_another_record_at_the_destination_is_refused(tmp_path: Path, run: Run) -> None:
    publish(tmp_path / "record", tmp_path / "site")
    start(tmp_path / "other", Start(id="one")).finish()
    before = {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    with pytest.raises(RefusedError, match="holds another record"):
        publish(tmp_path / "other", tmp_path / "site")
    assert {p: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()} == before


def test_a_published_manifest_is_signed_where_there_is_a_key(tmp_path: Path, run: Run) -> None:
    unsigned = publish(tmp_path / "record", tmp_path / "site")
    key_new(tmp_path / "record")
    signed = publish(tmp_path / "record", tmp_path / "site")
    assert (unsigned.signed, unsigned.note) == (None, None)
    assert signed.signed is not None
    report = verify(tmp_path / "site")
    assert (report.exit_code, report.key) == (0, signed.signed)
    (tmp_path / "config" / "key").chmod(0o644)
    beside = publish(tmp_path / "record", tmp_path / "site2")
    assert beside.note is not None
    assert "not signed" in beside.words


def test_a_record_whose_closing_was_killed_before_its_commit_is_committed_first(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = tmp_path / "record" / "manifest.json"
    before = manifest.read_bytes()
    run.finish()
    manifest.write_bytes(before)
    report = publish(tmp_path / "record", tmp_path / "site")
    assert report.written == report.files
    assert verify(tmp_path / "site").ok
    named = json.loads((tmp_path / "site" / "record" / "manifest.json").read_bytes())["writers"]
    assert [one["segments"] for one in named if one["run"] == "one"] == [1]


def test_a_damaged_record_is_said_with_what_to_do_and_nothing_is_written(tmp_path: Path, run: Run) -> None:
    run.finish()
    segment = min((tmp_path / "record").rglob("seg/1.json"))
    segment.write_bytes(segment.read_bytes().replace(b"one", b"two"))
    with pytest.raises(RecordError, match="run `fanal verify"):
        publish(tmp_path / "record", tmp_path / "site")
    assert not (tmp_path / "site").exists()
