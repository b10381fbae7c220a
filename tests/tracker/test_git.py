"""Git tells the state of a working tree, without the user of its remote."""

from pathlib import Path

import pytest

from fanal.tracker.git import look, without_user


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
