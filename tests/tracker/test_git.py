"""Git tells the state of a working tree, without the user of its remote."""

import subprocess
from pathlib import Path

import pytest

from fanal.tracker.git import look, without_user

SECRET = "hf_" + "aB3dE6gH9j" * 3


def git(*arguments: str) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A working tree with one commit, a remote with a token and a change."""
    (tmp_path / "train.py").write_text("import fanal\nlr = 0.1\n")
    (tmp_path / "notes.txt").write_text("words")
    git("init", "-b", "trunk")
    git("add", ".")
    git("commit", "-m", "first")
    git("remote", "add", "origin", f"https://user:{SECRET}@example.org/team/repo.git")
    (tmp_path / "train.py").write_text(f"import fanal\nlr = 0.2\ntoken = '{SECRET}'\n")
    return tmp_path


def test_git_tells_commit_branch_and_remote_without_user(repository: Path) -> None:
    found = look(repository)
    assert found is not None
    assert (found.branch, found.remote) == ("trunk", "https://example.org/team/repo.git")
    assert found.commit is not None
    assert len(found.commit) == 40
    assert "+lr = 0.2" in (found.changes() or "")
    (repository / "inner").mkdir()
    assert look(repository / "inner") == found


@pytest.mark.parametrize(
    ("remote", "wanted"),
    [
        ("https://user:token@host/x.git", "https://host/x.git"),
        ("ssh://git@host/x.git", "ssh://host/x.git"),
        ("git@host:team/x.git", "git@host:team/x.git"),
        (None, None),
    ],
)
def test_remotes_lose_their_user(remote: str | None, wanted: str | None) -> None:
    assert without_user(remote) == wanted
