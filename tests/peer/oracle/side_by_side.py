"""One script, both ways: run, read, compared; and what it printed."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from tests.peer.oracle.comparing import Difference, differences
from tests.peer.oracle.ours import told_by_fanal
from tests.peer.oracle.runner import OWN, SCRIPTS, Ran, run_both
from tests.peer.oracle.theirs import told_by_wandb
from tests.peer.oracle.told import ABSENT, words

ENDS_BADLY = {"uncaught_exception": 1}
"""Exit codes of the scripts that are meant to fail."""


@dataclass(frozen=True)
class Outcome:
    """What came of one script."""

    sittings: int
    """Runs, or attempts of runs, that the real wandb kept."""
    compared: int
    """Places at which the two were compared."""
    differences: list[Difference]


def side_by_side(name: str, folder: Path, packages: Path) -> Outcome:
    """Run the script both ways and compare what was kept.

    Raises:
        AssertionError: the script does not run with wandb itself.
    """
    real, ours = run_both(SCRIPTS[name], ("shim", SCRIPTS[name]), folder, packages)
    assert real.exit_code == ENDS_BADLY.get(name, 0), (
        f"{name} with wandb itself ended with {real.exit_code}:\n{real.errors[-3000:]}"
    )
    told, kept = told_by_wandb(real.folder), told_by_fanal(ours.folder)
    found = _of_process(name, real, ours) + differences(name, told, kept)
    return Outcome(len(told), sum(len(a.keys() | b.keys()) for a, b in zip(told, kept, strict=False)), found)


def rows_of_own(name: str, folder: Path, packages: Path) -> list[Difference]:
    """The rows that differ between a training written by a framework's callback of wandb and by ours."""
    real, ours = run_both(SCRIPTS[name], ("own", OWN[name]), folder, packages)
    assert (real.exit_code, ours.exit_code) == (0, 0), (real.errors + ours.errors)[-3000:]
    found = differences(f"own/{name}", told_by_wandb(real.folder), told_by_fanal(ours.folder))
    return [one for one in found if one.place.startswith(("rows", "sittings"))]


def _of_process(name: str, real: Ran, ours: Ran) -> list[Difference]:
    found: list[Difference] = []
    if ours.exit_code != real.exit_code:
        last = ours.errors.strip().splitlines()[-1:] or ["nothing said"]
        found.append(Difference(name, 0, "exit code", str(real.exit_code), f"{ours.exit_code}: {last[0]}"))
    a, b = real.printed.splitlines(), ours.printed.splitlines()
    for kind, start, end, first, last in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            pair = (words("; ".join(part)) if part else repr(ABSENT) for part in (a[start:end], b[first:last]))
            found.append(Difference(name, 0, f"printed line {start + 1}", *pair))
    return found
