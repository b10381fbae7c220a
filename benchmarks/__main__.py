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
NAMES = ("logging", "memory", "record", "hero", "events", "publish", "demo")


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
    unknown = set(names) - set(NAMES)
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    RESULTS.mkdir(exist_ok=True)
    for name in names or NAMES:
        began = time.monotonic()
        figures = {"benchmark": name, **machine(), **importlib.import_module(f"benchmarks.{name}").measure()}
        figures["benchmark_seconds"] = round(time.monotonic() - began, 1)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(figures, indent=1, allow_nan=False) + "\n", "utf-8")
        print(f"{path.relative_to(HERE.parent)}\n{json.dumps(figures, indent=1)}")


if __name__ == "__main__":
    main(sys.argv[1:])
