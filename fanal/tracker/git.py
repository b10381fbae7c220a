"""What git says of the code in a folder: commit, branch, remote without user or token, and what is changed.

Calls the `git` program, milliseconds each; where there is none, or no repository, nothing is known.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 10.0
MAX_CHANGES_BYTES = 4 << 20
_USER = re.compile(r"^([a-z+]+://)[^/@]*@", re.I)


@dataclass(frozen=True)
class Git:
    """The state of a working tree."""

    root: Path
    commit: str | None
    branch: str | None
    remote: str | None

    def changes(self) -> str | None:
        """The difference of tracked files to the commit, cut at `MAX_CHANGES_BYTES`; None where there is none."""
        text = run_git(self.root, "diff", "HEAD", "--no-color", "--no-ext-diff")
        return text[:MAX_CHANGES_BYTES] or None if text else None


def look(folder: Path) -> Git | None:
    """The working tree that a folder is in."""
    root = run_git(folder, "rev-parse", "--show-toplevel")
    if not root:
        return None
    remotes = (run_git(folder, "remote") or "").split()
    name = "origin" if "origin" in remotes else remotes[0] if remotes else None
    remote = run_git(folder, "remote", "get-url", name) if name else None
    branch = run_git(folder, "symbolic-ref", "--short", "-q", "HEAD")
    return Git(Path(root), run_git(folder, "rev-parse", "-q", "--verify", "HEAD"), branch, without_user(remote))


def without_user(remote: str | None) -> str | None:
    """A remote's address without user and password."""
    return None if not remote else _USER.sub(r"\1", remote)


def run_git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None where it cannot or fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.rstrip("\n") or None if done.returncode == 0 else None
