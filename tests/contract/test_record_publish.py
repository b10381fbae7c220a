"""Faults of public run pages: what leaves with a run that nobody meant to publish, and names that lead elsewhere."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import fanal
from fanal.errors import RefusedError
from fanal.page.publish import publish
from fanal.page.server import app
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.proof.redact import redact
from fanal.record.proof.verify import verify
from fanal.record.secrets import fingerprint
from tests.worlds.planted import core, planted
from tests.worlds.site import file_server

ONCE = FollowOptions(once=True, patience_seconds=0)

TRAINING = """
import json, os, sys
from pathlib import Path
import fanal

secrets = json.loads(Path(sys.argv[1]).read_text())
Path("weights.txt").write_text("a download link with " + secrets["artifact"])
run = fanal.init(
    dir=sys.argv[2], id="one", name="one", notes="made with " + secrets["notes"], tags=["public", secrets["tags"]],
    config={"optimizer": {"lr": 0.1}, "tracker": {"api_key": secrets["config"]}}, save_code=True,
)
fanal.log({"loss": 1.0, "table": fanal.Table(columns=["step", "said"], data=[[0, "use " + secrets["table"]]])}, step=0)
run.record.event("sample", step=0, prompt="The key is", text=secrets["samples"], temperature=0.0)
fanal.alert(title="Look", text="posted to " + secrets["alert"])
artifact = fanal.Artifact("weights", type="model")
artifact.add_file("weights.txt")
run.log_artifact(artifact)
fanal.finish()
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))


def train(folder: Path, secrets: dict[str, str]) -> str:
    """A training with a secret in each of eleven places; what it said."""
    code = folder / "code"
    code.mkdir()
    (folder / "secrets.json").write_text(json.dumps(secrets))
    (code / "train.py").write_text(f'KEY = """{secrets["code"]}"""\n{TRAINING}')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(code)]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", f"https://me:{secrets['remote']}@example.org/me/code.git"],
        ["add", "train.py"],
        ["commit", "-q", "-m", "first"],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    arguments = [str(folder / "secrets.json"), str(folder / "record"), "--token", secrets["argv"]]
    environment = {**os.environ, "HF_TOKEN": secrets["environment"], "PYTHONPATH": str(Path(fanal.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "train.py", *arguments], cwd=code, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def hits(folder: Path, secrets: dict[str, str]) -> set[tuple[str, str]]:
    """Which secrets are in which files of a folder, as `grep -r` would find them."""
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {(place, str(p)) for p in files for place, one in secrets.items() if core(one) in p.read_bytes()}


def test_r30_eleven_planted_secrets_are_in_no_site_copy_or_log(tmp_path: Path) -> None:
    secrets = planted()
    said = train(tmp_path, secrets)
    with pytest.raises(RefusedError) as refused:
        publish(tmp_path / "record", tmp_path / "site")
    assert refused.value.exit_code == 3
    assert fingerprint(secrets["artifact"]) in str(refused.value), "an artifact's bytes are kept as they are"
    assert not (tmp_path / "site").exists()
    (blob,) = [p for p in (tmp_path / "record" / "blobs").iterdir() if core(secrets["artifact"]) in p.read_bytes()]
    redact(tmp_path / "record", blob.name, "a download link with a key")
    publish(tmp_path / "record", tmp_path / "site")
    with file_server(tmp_path / "site") as address:
        follow(address, tmp_path / "copy", ONCE)
    assert verify(tmp_path / "copy").ok
    for folder in ("record", "site", "copy", "state"):
        assert hits(tmp_path / folder, secrets) == set()
    assert not [place for place, one in secrets.items() if core(one).decode() in said + str(refused.value)]
    run = fanal.open(tmp_path / "copy").runs["one"]
    assert run.config["optimizer"] == {"lr": 0.1}
    assert run.config["tracker"] == {"api_key": "[secret withheld]"}


def test_r30_argv_environment_hosts_and_paths_are_not_published_by_default(tmp_path: Path) -> None:
    train(tmp_path, planted() | {"artifact": "no secret at all"})
    (process,) = fanal.open(tmp_path / "record").runs["one"].events("process")
    publish(tmp_path / "record", tmp_path / "site")
    with file_server(tmp_path / "site") as address:
        follow(address, tmp_path / "copy", ONCE)
    assert fanal.open(tmp_path / "copy").runs["one"].events("process") == []
    for text in (process.fields["host"], process.fields["folder"], "--token"):
        found = [
            p for p in (tmp_path / "site" / "record").rglob("*") if p.is_file() and text.encode() in p.read_bytes()
        ]
        assert not found, text


def test_r30_names_that_are_markup_or_lead_elsewhere_stay_names(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "outside").write_text("private words")
    (tmp_path / "files" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "files" / "plain.txt").write_text("plain words")
    run = fanal.init(dir=tmp_path / "record", name="<img src=x onerror=alert(1)>")
    fanal.log({"../../x": 1.0, "a#/../b": 2.0, "%2e%2e/": 3.0}, step=0)
    with pytest.raises(fanal.UsageError, match="leads outside"):
        fanal.Artifact("../../x", type="model")
    artifact = fanal.Artifact("weights", type="model")
    for name in ("../../x", "a#/../b", "/etc/passwd"):
        with pytest.raises(fanal.UsageError, match=r"leads outside|must be relative"):
            artifact.add_file(tmp_path / "files" / "plain.txt", name=name)
    artifact.add_file(tmp_path / "files" / "plain.txt", name="%2e%2e/y")
    artifact.add_dir(tmp_path / "files")
    with tarfile.open(tmp_path / "files.tar", "w") as tar:
        member = tarfile.TarInfo("/etc/evil")
        tar.addfile(member)
    artifact.add_file(tmp_path / "files.tar")
    run.log_artifact(artifact)
    fanal.finish()
    publish(tmp_path / "record", tmp_path / "site")
    names = [p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*")]
    assert not [name for name in names if Path(name).name == "x" or "evil" in name or "<" in name or "%" in name]
    assert not [p for p in (tmp_path / "site").rglob("*") if p.is_symlink()]
    assert b"private words" not in b"".join(p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file())
    (kept,) = fanal.open(tmp_path / "record").runs.values()
    assert kept.name == "<img src=x onerror=alert(1)>"
    assert sorted(kept.keys()) == sorted(["../../x", "a#/../b", "%2e%2e/"])
    with TestClient(app(tmp_path)) as client:
        for asked in ("../../x", "a#/../b", "%2e%2e/", "%2e%2e/%2e%2e/outside", "/etc/passwd"):
            assert client.get(f"/record/{asked}").status_code == 404
    with file_server(tmp_path / "site") as address:
        follow(address, tmp_path / "copy", ONCE)
    outside = {p.name for p in tmp_path.iterdir()}
    assert outside == {"files", "outside", "record", "files.tar", "site", "copy", "state", "config"} & outside
    assert verify(tmp_path / "copy").ok


def test_r30_one_run_can_be_public_where_another_is_not(tmp_path: Path) -> None:
    fanal.init(dir=tmp_path / "record", id="open")
    fanal.log({"loss": 1.0}, step=0)
    fanal.finish()
    fanal.init(dir=tmp_path / "record", id="closed", withhold=[("*", "a partner's run")])
    fanal.log({"private": 0.125}, step=0)
    fanal.finish()
    publish(tmp_path / "record", tmp_path / "site")
    with file_server(tmp_path / "site") as address:
        follow(address, tmp_path / "copy", ONCE)
    record = fanal.open(tmp_path / "copy")
    assert record.runs["open"].keys() == ["loss"]
    assert "closed" not in record.runs or record.runs["closed"].keys() == []
    assert not [p for p in (tmp_path / "site").rglob("*") if p.is_file() and b"private" in p.read_bytes()]
    assert "a partner's run" in verify(tmp_path / "copy").words
