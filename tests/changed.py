"""Prints the tests that mirror the files changed since the last commit, one path a line, for `make test-changed`."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def mirrored(path: Path) -> Path | None:
    """The test of one changed file: itself where it is a test, else `tests/<package>/test_<module>.py`."""
    if path.parts[0] == "tests":
        return path if path.name.startswith("test_") else None
    if path.parts[0] != "fanal" or path.suffix != ".py":
        return None
    return Path("tests", *path.parts[1:-1], f"test_{path.name}")


def changed_tests() -> list[Path]:
    """Existing mirrored tests of everything that differs from the last commit."""
    commands = (["git", "diff", "--name-only", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"])
    names = [subprocess.run(c, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split() for c in commands]
    tests = {mirrored(Path(name)) for listed in names for name in listed}
    return sorted(t for t in tests if t is not None and (ROOT / t).is_file())


if __name__ == "__main__":
    print("\n".join(map(str, changed_tests())))
