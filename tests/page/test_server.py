"""The server: known names only, strict headers, a manifest that answers 304, and an address that is said."""

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import fanal.page.live
from fanal.errors import FanalError
from fanal.page.server import app, bind
from fanal.record.attempt import Start, start
from tests.page.conftest import Grown
from tests.worlds.campaign_record import Made


@pytest.fixture
def client(grown: Grown) -> Iterator[TestClient]:
    with TestClient(app(grown.made.folder), raise_server_exceptions=True) as made:
        yield made


def test_the_page_its_manifest_its_view_and_its_assets_are_served(client: TestClient) -> None:
    index = client.get("/")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.content == client.get("/index.html").content
    for name in re.findall(r'(?:src|href)="(assets/[^"]+)"', index.text):
        asset = client.get(f"/{name}")
        assert asset.status_code == 200, name
        assert "immutable" in asset.headers["cache-control"]
    manifest = client.get("/manifest.json").json()
    view = client.get(f"/{manifest['view']}")
    assert view.headers["content-type"] == "application/json"
    assert view.json()["headline"]["lead"].startswith("Hero finished")


@pytest.mark.parametrize("address", ["/", "/manifest.json", "/nothing", "/record/record.json"])
def test_every_answer_carries_the_policy(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(client: TestClient, method: str) -> None:
    assert client.request(method, "/manifest.json").status_code == 405


def test_head_answers_without_a_body(client: TestClient) -> None:
    answer = client.head("/manifest.json")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "address",
    [
        "/record/../record.json",
        "/record/..%2frecord.json",
        "/record/%2e%2e/%2e%2e/etc/passwd",
        "/record/runs/%2e%2e%2frecord.json",
        "/record//etc/passwd",
        "/%2fetc%2fpasswd",
        "/record/record.json%00",
        "/record/%00",
        "/assets/%2e%2e%2findex.html",
        "/assets/..%2f..%2fserver.py",
        "/view/..%2f..%2fmanifest.json",
        "/view/" + "0" * 64 + ".json",
        "/..%5c..%5crecord.json",
        "/record/",
        "/record/runs",
        "/vendor/uPlot.iife.min.js",
    ],
)
def test_a_name_that_is_not_known_is_not_found(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_links_out_of_the_record_are_not_followed(grown: Grown, client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret").write_text("secret")
    links = {"link": tmp_path / "secret", "folder": tmp_path / "folder", ".hidden": tmp_path / "secret"}
    made = [grown.made.record / name for name in links]
    for link, target in zip(made, links.values(), strict=True):
        link.symlink_to(target)
    answers = [client.get(f"/record/{name}").status_code for name in ("link", "folder/secret", ".hidden")]
    for link in made:
        link.unlink()
    assert answers == [404, 404, 404]


def test_every_file_of_the_record_is_served_as_it_is(grown: Grown, client: TestClient) -> None:
    files = [p for p in grown.made.record.rglob("*") if p.is_file()]
    assert len(files) > 20
    for path in files:
        if path.name in ("manifest.json", "partial"):  # these two change in the record, and are published otherwise
            continue
        answer = client.get(f"/record/{path.relative_to(grown.made.record).as_posix()}")
        assert answer.content == path.read_bytes(), path
        assert answer.headers["content-type"] == "application/octet-stream"


def test_an_unchanged_manifest_answers_304(client: TestClient) -> None:
    first = client.get("/manifest.json")
    again = client.get("/manifest.json", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/manifest.json", headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_page_is_there_before_the_record_and_follows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanal.page.live, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(fanal.page.live, "SHARE_OF_A_CORE", 1e9)
    with TestClient(app(tmp_path / "runs" / "lantern")) as client:
        waiting = client.get("/manifest.json").json()
        assert waiting["phase"] == "planned"
        assert "Waiting" in client.get(f"/{waiting['view']}").json()["headline"]["lead"]
        run = start(tmp_path / "runs" / "lantern" / "record", Start(id="first"))
        run.log({"loss": 4.0}, step=0)
        one = client.get("/manifest.json").json()
        run.log({"loss": 3.0}, step=1)
        two = client.get("/manifest.json").json()
        views = [client.get(f"/{m['view']}").json() for m in (one, two)]
        run.finish()
    assert [v["hero"]["train"]["rows"] for v in views] == [1, 2]
    assert [v["progress"]["phase"] for v in views] == ["running", "running"]


def test_the_state_is_built_at_most_twice_a_second_and_a_tenth_of_a_core(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[float] = []
    now = [100.0]
    page = fanal.page.live.LivePage(grown.made.folder)
    build = page._build
    monkeypatch.setattr(fanal.page.live.time, "monotonic", lambda: now[0])

    def slow_build() -> fanal.page.live.View:
        built.append(now[0])
        now[0] += 0.2
        return build()

    monkeypatch.setattr(page, "_build", slow_build)
    for _ in range(60):
        page.newest()
        now[0] += 0.1
    gaps = [b - a for a, b in pairwise(built)]
    assert len(built) == 3
    assert min(gaps) >= 2.0


def test_an_old_view_is_kept_for_those_who_were_told_of_it(growing: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanal.page.live, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(fanal.page.live, "SHARE_OF_A_CORE", 1e9)
    page = fanal.page.live.LivePage(growing.folder)
    first = page.newest()
    growing.hero(0.75)
    second = page.newest()
    assert first.name != second.name
    assert page.view_body(first.name) == first.body


def test_a_record_made_anew_in_the_same_place_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanal.page.live, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(fanal.page.live, "SHARE_OF_A_CORE", 1e9)
    page = fanal.page.live.LivePage(tmp_path)
    titles: list[str] = []
    for name in ("first", "second"):
        start(tmp_path / "record", Start(name=name)).finish()
        titles.append(json.loads(page.newest().body)["title"])
        shutil.rmtree(tmp_path / "record")
    titles.append(json.loads(page.newest().body)["title"])
    assert titles == ["first", "second", "A run to come"]


def test_a_damaged_record_is_said_and_does_not_end_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(tmp_path / "record", Start(name="one")).finish()
    header = tmp_path / "record" / "record.json"
    header.write_bytes(header.read_bytes().replace(b"record", b"rekord", 1))
    with TestClient(app(tmp_path)) as client:
        answer = client.get("/manifest.json")
        assert (answer.status_code, client.get("/").status_code) == (503, 200)
        assert "no-store" in answer.headers["cache-control"]
    assert "record.json" in capsys.readouterr().err


def test_a_taken_port_gives_the_next_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        listener, moved = bind("127.0.0.1", port)
        with listener:
            assert moved
            assert listener.getsockname()[1] > port


def test_an_address_of_another_machine_is_refused_in_words() -> None:
    with pytest.raises(FanalError, match=r"203\.0\.113\.7:8731 cannot be served"):
        bind("203.0.113.7", 8731)


def test_serving_says_its_address_first_and_ends_on_a_signal(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code = f"from fanal.page.server import serve; serve({str(tmp_path)!r}, port={port})"
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        address = child.stdout.readline().strip()
        child.terminate()
        _, words = child.communicate(timeout=20)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    assert f"fanal: port {port} is taken; the page is at port" in words


def test_the_server_needs_no_jax_and_no_writer() -> None:
    heavy = ("jax", "matplotlib", "tokenizers", "fanal.record.attempt")
    code = f"import sys, fanal.page.server; print(json.dumps([m for m in {heavy!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", f"import json; {code}"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
