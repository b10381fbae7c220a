"""`python -m benchmarks.tables [--check]`: writes the README's table of `log()` from `benchmarks/results/logging.json`.

Only what stands between the two markers changes, so that no figure in the README is typed. With `--check` nothing is
written, and an old table is an error.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEGIN, END = "<!-- benchmark:logging -->", "<!-- /benchmark:logging -->"
CASES = ("20 scalars", "4,000 scalars")


def table(figures: Mapping[str, Any]) -> str:
    """A row a tool: median and p99 of a call by case, quiet and beside a busy thread, and bytes a value."""
    lines = [
        "| tool | 20 scalars, µs | beside a busy thread | 4,000 scalars, ms | beside a busy thread | bytes a value |",
        "|---|---|---|---|---|---|",
    ]
    for tool in tools(figures):
        times = [cell(figures, tool, case, beside) for case in CASES for beside in ("quiet", "busy thread")]
        sizes = " / ".join(
            f"{figures[f'{tool}, {case}, quiet']['closed_bytes_per_value']['median']:.1f}" for case in CASES
        )
        lines.append(f"| {' | '.join([name(figures, tool), *times, sizes])} |")
    return "\n".join([*lines, "", *notes(figures)])


def tools(figures: Mapping[str, Any]) -> Iterator[str]:
    """The tools that were measured, in the order of the file."""
    yield from dict.fromkeys(key.split(",")[0] for key in figures if key.endswith(", quiet"))


def name(figures: Mapping[str, Any], tool: str) -> str:
    """With its version, where it is somebody else's."""
    version = figures["versions"].get(tool)
    return f"{tool} {version}" if version else tool


def cell(figures: Mapping[str, Any], tool: str, case: str, beside: str) -> str:
    """Median and p99 of a call: medians of the repeats."""
    found = figures[f"{tool}, {case}, {beside}"]
    unit, digits = (1e6, 0) if case == CASES[0] else (1e3, 2)
    median, p99 = (found[part]["median"] * unit for part in ("median_seconds", "p99_seconds"))
    return f"{median:,.{1 if digits == 0 and median < 10 else digits}f} / {p99:,.{digits}f}"


def notes(figures: Mapping[str, Any]) -> Iterator[str]:
    """What the table is of, and what it leaves out."""
    closed = [figures[f"fanal, {case}, curves"]["closed_bytes_per_value"] for case in CASES]
    yield (
        f"Median / 99th percentile of a call, medians of {figures['repeats']} runs in turns; {figures['cores']} cores, "
        f"Python {figures['python']}, {figures['date']}. Bytes: everything on disk after the end, for 20 / 4,000 keys "
        f"of random doubles; of curves that float32 holds ours are {closed[0]:.2f} / {closed[1]:.2f}. The JSON line is "
        f"`json.dumps` and a flush a step. {figures['rows_after_sigkill']:,} of 1,000 rows are there after a SIGKILL "
        "straight after the last call; another process reads a row after "
        f"{figures['readable_after_seconds']['median'] * 1e3:.1f} ms (median)."
    )
    if cut := ", ".join(cut_short(figures)):
        yield f"Ended at {figures['cap_seconds']['others']:g} s before all rows were logged: {cut}."


def cut_short(figures: Mapping[str, Any]) -> Iterator[str]:
    """Loops that reached their cap in any repeat."""
    for tool in tools(figures):
        for case in CASES:
            rows = figures[f"{tool}, {case}, quiet"]["rows"]
            wanted = figures["rows"][case]["fanal" if tool == "fanal" else "others"]
            if rows["least"] < wanted:
                yield f"{tool} ({rows['least']:,.0f} of {wanted:,} rows of {case})"


def rewrite(text: str, figures: Mapping[str, Any]) -> str:
    """A text with the table between its markers.

    Raises:
        ValueError: the markers are not there, once each and in order.
    """
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended or BEGIN in after or END in before:
        raise ValueError(f"the text must hold {BEGIN} and after it {END}, once each")
    return f"{before}{BEGIN}\n{table(figures)}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Write the README, or with `--check` say whether it is as it would be written; 0 or 1."""
    readme = HERE.parent / "README.md"
    text = readme.read_text("utf-8")
    new = rewrite(text, json.loads((HERE / "results" / "logging.json").read_text("utf-8")))
    if arguments == ["--check"]:
        return int(new != text)
    readme.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
