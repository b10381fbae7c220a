"""Rewrites `index.toml`'s lists of tests from the tests' names; rows without tests keep their `later` line."""

import tomllib
from pathlib import Path

from tests.contract.test_index import HERE, contract_tests


def rewritten(old: dict[str, dict[str, object]], tests: set[str]) -> str:
    """The index with every row's tests as they stand in the files, in the order of the rows."""
    lines = Path(HERE / "index.toml").read_text("utf-8").split("\n\n", 1)[0].splitlines()
    for row, entry in old.items():
        own = sorted(t for t in tests if f"::test_{row.lower()}_" in t)
        lines += ["", f"[{row}]"]
        if own:
            lines += ["tests = [", *(f'    "{t}",' for t in own), "]"]
        if "later" in entry:
            lines.append(f'later = "{entry["later"]}"')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    path = HERE / "index.toml"
    path.write_text(rewritten(tomllib.loads(path.read_text("utf-8")), contract_tests()), "utf-8")
