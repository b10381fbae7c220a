"""Publishing: the same files as the server's, whole at every moment, written once, and nobody else's touched."""

import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import fanal.page.stores
from fanal.errors import RecordError, RefusedError
from fanal.page.publication import KEPT_VIEWS
from fanal.page.publish import publish
from fanal.page.server import app
from fanal.record.attempt import Start, start
from fanal.record.files import sha256
from fanal.record.proof.verify import verify
from tests.page.conftest import Grown
from tests.worlds.campaign_record import Made


def test_the_site_is_what_the_server_serves(grown: Grown, tmp_path: Path) -> None:
    report = publish(grown.made.folder, tmp_path / "site")
    files = [p for p in (tmp_path / "site").rglob("*") if p.is_file()]
    assert report.files == report.written == len(files)
    with TestClient(app(grown.made.folder)) as client:
        assert client.get("/manifest.json").json()["view"] == report.view
        for path in files:
            name = path.relative_to(tmp_path / "site").as_posix()
            assert client.get(f"/{name}").content == path.read_bytes(), name


def test_a_second_call_writes_nothing_and_a_changed_record_only_what_changed(growing: Made, tmp_path: Path) -> None:
    publish(growing.folder, tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    assert publish(growing.folder, tmp_path).written == 0
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    growing.hero(0.8)
    again = publish(growing.folder, tmp_path)
    assert 1 <= again.written <= 5
    assert "assets" not in {p.relative_to(tmp_path).parts[0] for p in tmp_path.rglob("*") if before.get(p) is None}


def test_the_copy_verifies(grown: Grown, faulty: Made, tmp_path: Path) -> None:
    publish(grown.made.folder, tmp_path / "done")
    assert verify(tmp_path / "done" / "record").ok
    publish(faulty.folder, tmp_path / "live")
    assert verify(tmp_path / "live" / "record").ok


def test_an_open_log_is_published_as_slices_which_leave_the_manifest_when_it_is_closed(tmp_path: Path) -> None:
    run = start(tmp_path / "record", Start(id="one"))
    run.log({"loss": 1.0}, step=0)
    site = tmp_path / "site" / "record"
    publish(tmp_path, tmp_path / "site")
    slices = json.loads((site / "manifest.json").read_bytes())["tails"]
    whole = verify(site)
    run.finish()
    publish(tmp_path, tmp_path / "site")
    assert [one["log"] for one in slices] == [1]
    assert (site / "tails" / slices[0]["sha256"]).is_file(), "kept for readers of the old manifest"
    assert json.loads((site / "manifest.json").read_bytes())["tails"] == []
    assert not list((tmp_path / "site").rglob("*.log"))
    assert whole.ok, whole.words
    assert verify(site).ok, verify(site).words


def test_children_are_there_before_the_manifest(grown: Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    put = fanal.page.stores.write_whole

    def noted(path: Path, body: bytes) -> None:
        written.append(path.relative_to(tmp_path).as_posix())
        if path.name == "manifest.json" and path.parent == tmp_path:
            assert (tmp_path / json.loads(body)["view"]).is_file()
        put(path, body)

    monkeypatch.setattr(fanal.page.stores, "write_whole", noted)
    publish(grown.made.folder, tmp_path)
    assert written[-3:] == ["index.html", "record/manifest.json", "manifest.json"]


def test_a_publish_that_was_cut_off_goes_on(grown: Grown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = fanal.page.stores.write_whole

    def cut(path: Path, body: bytes) -> None:
        if path.name == "index.html":
            raise KeyboardInterrupt
        put(path, body)

    monkeypatch.setattr(fanal.page.stores, "write_whole", cut)
    with pytest.raises(KeyboardInterrupt):
        publish(grown.made.folder, tmp_path)
    monkeypatch.setattr(fanal.page.stores, "write_whole", put)
    assert publish(grown.made.folder, tmp_path).written == 3


def test_other_peoples_folders_are_refused_and_untouched(grown: Grown, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RefusedError, match=r"holds 'thesis\.tex' and is no page of ours"):
        publish(grown.made.folder, tmp_path)
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    with pytest.raises(RefusedError, match="no page of ours"):
        publish(grown.made.folder, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["manifest.json", "thesis.tex"]


def test_a_file_and_a_folder_inside_the_record_are_refused(grown: Grown, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RefusedError, match="is a file"):
        publish(grown.made.folder, tmp_path / "file")
    for inside in (grown.made.record, grown.made.record / "site"):
        with pytest.raises(RefusedError, match="inside the record"):
            publish(grown.made.folder, inside)


def test_no_record_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is no record"):
        publish(tmp_path, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_strangers_file_in_the_site_stays_and_old_views_of_ours_go(grown: Grown, tmp_path: Path) -> None:
    newest = publish(grown.made.folder, tmp_path).view
    (tmp_path / "CNAME").write_text("example.org")
    stranger = tmp_path / "view" / f"{'0' * 64}.json"
    stranger.write_text("not what its name says")
    for i in range(12):
        body = f'{{"old":{i}}}'.encode()
        name = sha256(body)
        (tmp_path / "view" / f"{name}.json").write_bytes(body)
        os.utime(tmp_path / "view" / f"{name}.json", (1000 + i, 1000 + i))
    os.utime(stranger, (10, 10))
    publish(grown.made.folder, tmp_path)
    assert (tmp_path / "CNAME").read_text() == "example.org"
    assert stranger.exists()
    assert (tmp_path / newest).exists()
    assert len(list((tmp_path / "view").iterdir())) == KEPT_VIEWS + 1


def test_the_report_says_what_was_written(grown: Grown, tmp_path: Path) -> None:
    report = publish(grown.made.folder, tmp_path / "site")
    assert report.words.startswith(f"{tmp_path / 'site'}: {report.files} files, {report.written} files written (")
    assert "nothing changed" in publish(grown.made.folder, tmp_path / "site").words
    assert {"dest", "view", "files", "written", "written_bytes", "withheld", "signed"} < set(report.to_json())
