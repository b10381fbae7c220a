"""`fanal anchor`: roots in a git repository, which later show that a record goes on from them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.attempt import Start, start
from fanal.record.proof import keys
from fanal.record.proof.anchor import anchor
from fanal.record.proof.checkpoint import read_note
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.key_commands import key_new
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.signing import is_signed_by
from fanal.record.proof.verify import verify


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    folder = tmp_path / "anchors"
    subprocess.run(["git", "init", "-q", folder], check=True)
    git(folder, "config", "user.email", "a@example.org")
    git(folder, "config", "user.name", "A")
    return folder


def test_the_signed_root_is_committed_and_the_record_says_where(copied: Path, repository: Path) -> None:
    (repository / "other").write_text("not ours")
    git(repository, "add", "other")
    report = anchor(copied, repository)
    note = read_note(git(repository, "show", f"HEAD:{Path(report.file).relative_to(repository)}") + "\n")
    known = read_manifest(copied)
    assert known is not None
    assert known.public_key is not None
    assert is_signed_by(note, known.public_key)
    assert (note.checkpoint.size, note.checkpoint.root.hex()) == (report.size, report.root)
    assert (report.signed, report.pushed, report.commit) == (True, False, git(repository, "rev-parse", "HEAD"))
    assert git(repository, "log", "-1", "--format=%s") == f"Root of {known.origin}: {report.size} segments"
    assert git(repository, "status", "--porcelain") == "A  other", "what else is staged stays as it is"
    (fact,) = journal_facts(copied, "anchor")
    assert fact.fields == {"root": report.root, "size": report.size, "where": f"git commit {report.commit}"}
    assert "signed root of" in report.words
    assert report.to_json()["commit"] == report.commit
    assert verify(copied).exit_code == 0


def test_a_record_goes_on_from_its_anchored_root(copied: Path, repository: Path) -> None:
    first = anchor(copied, repository)
    start(copied, Start(id="later")).finish()
    second = anchor(copied, repository)
    assert second.size > first.size
    for one in (first, second):
        report = verify(copied, since=one.file)
        assert report.exit_code == 0
        assert f"continues the root seen earlier: {one.size} segments then" in report.words
    assert len(list(Path(first.file).parent.iterdir())) == 2


def test_a_record_cut_or_rewritten_behind_its_anchor_is_told(copied: Path, repository: Path) -> None:
    before = copied.parent / "before"
    shutil.copytree(copied, before)
    start(copied, Start(id="later")).finish()
    report = anchor(copied, repository)
    assert verify(before).exit_code == 0
    checked = verify(before, since=report.file)
    assert checked.exit_code == 1
    assert "is shorter than the root seen earlier" in checked.words
    # The same root claimed in the record itself, over another history.
    shutil.rmtree(copied / "tree")
    (copied / "manifest.json").unlink()
    shutil.rmtree(copied / "runs" / "b")
    keys.commit(copied)
    checked = verify(copied)
    assert checked.exit_code == 1
    assert f"than its root anchored in git commit {report.commit}" in checked.words


def test_an_unsigned_root_is_anchored_and_said_to_be_unsigned(tiny: Path, tmp_path: Path, repository: Path) -> None:
    shutil.copytree(tiny, tmp_path / "r")
    report = anchor(tmp_path / "r", repository)
    assert not report.signed
    assert "unsigned root of 2 segments" in report.words
    assert read_note(Path(report.file).read_text()).signatures == ()
    assert verify(tmp_path / "r", since=report.file).exit_code == 0


def test_a_repository_with_a_remote_is_pushed_when_asked(copied: Path, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"git push in .* failed: "):
        anchor(copied, repository, push=True)
    assert len(journal_facts(copied, "anchor")) == 1, "it is anchored, and only not pushed"
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "far"], check=True)
    git(repository, "remote", "add", "origin", str(tmp_path / "far"))
    git(repository, "config", "push.autoSetupRemote", "true")
    report = anchor(copied, repository, push=True)
    assert report.pushed
    assert git(tmp_path / "far", "rev-parse", git(repository, "branch", "--show-current")) == report.commit


def test_no_repository_nothing_to_anchor_and_no_git_are_said(
    copied: Path, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecordError, match=r"nowhere is no git repository to anchor in: `git init .*nowhere` makes one"):
        anchor(copied, tmp_path / "nowhere")
    layout.open_record(tmp_path / "empty")
    with pytest.raises(RecordError, match="has no closed segment yet, and so no root to anchor"):
        anchor(tmp_path / "empty", repository)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RecordError, match="git is not installed"):
        anchor(copied, repository)


def test_an_anchor_that_was_cut_off_before_its_event_is_finished(
    copied: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("fanal.record.proof.anchor.journal", None)
        with pytest.raises(TypeError):
            anchor(copied, repository)
    commit = git(repository, "rev-parse", "HEAD")
    report = anchor(copied, repository)
    assert report.commit == commit == git(repository, "rev-parse", "HEAD")
    assert len(journal_facts(copied, "anchor")) == 1


def test_an_unchanged_record_is_anchored_once(copied: Path, repository: Path, tmp_path: Path) -> None:
    anchor(copied, repository)
    first = anchor(copied, repository)  # what the killed run left was closed meanwhile
    before = read_manifest(copied)
    again = anchor(copied, repository)
    assert again.was_there
    assert not first.was_there
    assert "anchored already: signed root of" in again.words
    assert (again.commit, again.size, again.file) == (first.commit, first.size, first.file)
    assert read_manifest(copied) == before
    assert git(repository, "rev-list", "--count", "HEAD") == "2"
    other = tmp_path / "other"
    shutil.copytree(repository, other)
    shutil.rmtree(other / Path(first.file).parent.name)
    git(other, "commit", "-q", "-a", "-m", "lost")
    assert not anchor(copied, other).was_there, "another repository holds nothing of it"
    assert anchor(copied, repository).was_there, "and that it does is only another anchor"
    start(copied, Start(id="later")).finish()
    assert not anchor(copied, repository).was_there


def test_a_root_that_was_anchored_unsigned_is_anchored_again_once_it_is_signed(
    tiny: Path, tmp_path: Path, repository: Path, config: Path
) -> None:
    shutil.copytree(tiny, tmp_path / "r")
    first = anchor(tmp_path / "r", repository)
    assert anchor(tmp_path / "r", repository).was_there
    key_new()
    signed = anchor(tmp_path / "r", repository)
    assert (first.signed, signed.signed, signed.was_there) == (False, True, False)


def test_a_folder_that_is_no_repository_is_said_with_what_makes_it_one(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(RecordError, match=r"plain is no git repository to anchor in: `git init .*plain` makes one"):
        anchor(copied, tmp_path / "plain")
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    with pytest.raises(RecordError, match="is no work tree of a git repository"):
        anchor(copied, tmp_path / "bare")


def test_a_record_whose_leaves_are_damaged_is_not_anchored(copied: Path, repository: Path) -> None:
    anchor(copied, repository)
    (copied / "tree" / "partial").write_bytes(b"{}\n" * 9)
    with pytest.raises(RecordError, match="run `fanal verify`"):
        anchor(copied, repository)
