"""`python -m examples.marin FIGURES RECORD`: the record of the public figures, made and verified."""

import sys
from pathlib import Path

from examples.marin.build import build
from fanal.record.proof.verify import verify


def main(arguments: list[str]) -> int:
    """Build and verify; 0 where the record is whole."""
    if len(arguments) != 2:
        print("usage: python -m examples.marin FIGURES RECORD", file=sys.stderr)
        return 2
    figures, record = map(Path, arguments)
    build(figures, record)
    report = verify(record)
    print(report.words)
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
