"""`python -m benchmarks [NAME …]` runs the named benchmarks, or all, and writes `benchmarks/results/<name>.json`."""

import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def machine() -> dict[str, Any]:
    """What the figures were measured on; no host's name."""
    return {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def main(names: list[str]) -> None:
    """Run each benchmark and print where its figures are."""
    every = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("_"))
    unknown = set(names) - set(every)
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    RESULTS.mkdir(exist_ok=True)
    for name in names or every:
        figures = {"benchmark": name, **machine(), **importlib.import_module(f"benchmarks.{name}").measure()}
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
        print(f"{path.relative_to(HERE.parent)}\n{json.dumps(figures, indent=1)}")


if __name__ == "__main__":
    main(sys.argv[1:])
