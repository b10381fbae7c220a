"""Runs every script both ways, prints what the table of differences lacks or has too much, and writes docs/oracle.md.

usage: python -m tests.peer.oracle [--forget-gone] [SCRIPT …]

With scripts named (`own/…` for those of our callbacks), only those run and the page stays. `--forget-gone` takes
differences that are no more out of the table.
"""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.peer.oracle.comparing import TABLE, Difference, gone, listed, unexplained, without
from tests.peer.oracle.page import page
from tests.peer.oracle.runner import OWN, ROOT, SCRIPTS, packages_without_wandb
from tests.peer.oracle.side_by_side import Outcome, rows_of_own, side_by_side


def main(arguments: list[str]) -> int:
    """Run, compare, print; 1 where the table does not hold."""
    forget, names = "--forget-gone" in arguments, [name for name in arguments if name != "--forget-gone"]
    table, outcomes = listed(), dict[str, Outcome]()
    lacking, no_more = list[Difference](), list[Difference]()
    with tempfile.TemporaryDirectory() as place:
        packages = packages_without_wandb(Path(place) / "site")
        for name in [name for name in SCRIPTS if name in names or not names]:
            outcomes[name] = side_by_side(name, Path(place) / name, packages)
            lacking += unexplained(name, outcomes[name].differences, table)
            no_more += gone(name, outcomes[name].differences, table)
        for name in [name for name in OWN if f"own/{name}" in names or not names]:
            found = rows_of_own(name, Path(place) / "own" / name, packages)
            lacking += unexplained(f"own/{name}", found, table)
            no_more += gone(f"own/{name}", found, table)
    for one in lacking:
        print(f'\n[[difference]]\nscript = "{one.script}"\nsitting = {one.sitting}\nplace = {one.place!r}')
        print(f"real = {one.real!r}\nours = {one.ours!r}\nreason = ''")
    for one in no_more:
        print(f"\n# no more: {one}")
    if forget and no_more:
        TABLE.write_text(without(TABLE.read_text("utf-8"), no_more), "utf-8")
        table, no_more = listed(), []
    if not names and not lacking and not no_more:
        (ROOT / "docs" / "oracle.md").write_text(page(outcomes, table, version("wandb")), "utf-8")
    return 1 if lacking or no_more else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
