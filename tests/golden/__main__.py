"""Writes every golden text, prints what changed, and the line that LOG.md needs for each that did.

`make check` holds that the hash of every golden text stands in LOG.md, so none changes without a word.
"""

import hashlib
import tempfile
from pathlib import Path

from tests.data import golden as data
from tests.e2e import golden as training

GOLDEN = Path(__file__).parent
LOG = GOLDEN.parents[1] / "LOG.md"


def unlogged() -> list[str]:
    """`<name> <first 12 of SHA-256>` of each golden text whose hash LOG.md does not hold."""
    log = LOG.read_text("utf-8")
    lines = [f"{p.name} {hashlib.sha256(p.read_bytes()).hexdigest()[:12]}" for p in sorted(GOLDEN.glob("*.txt"))]
    return [line for line in lines if line not in log]


if __name__ == "__main__":
    data.main()
    with tempfile.TemporaryDirectory() as place:
        data.write_golden("firefly_losses.txt", training.loss_lines(training.run_firefly(Path(place))))
    print("\n".join(f"LOG.md needs: golden {line}" for line in unlogged()))
