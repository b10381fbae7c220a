from typing import Any

import pytest

from benchmarks.tables import BEGIN, END, rewrite, table


def spread(median: float) -> dict[str, float]:
    return {"median": median, "least": median * 0.5, "greatest": median * 2}


def loop(median: float, p99: float, size: float, rows: int) -> dict[str, Any]:
    return {
        "median_seconds": spread(median),
        "p99_seconds": spread(p99),
        "closed_bytes_per_value": spread(size),
        "rows": {"median": rows, "least": rows, "greatest": rows},
    }


@pytest.fixture
def figures() -> dict[str, Any]:
    """Two tools; the other one reached its cap in the wide case."""
    return {
        "versions": {"wandb": "0.31.0"},
        "repeats": 3,
        "cores": 2,
        "python": "3.11.7",
        "date": "2026-12-01",
        "cap_seconds": {"fanal, JSON line": 4.0, "others": 2.5},
        "rows": {
            "20 scalars": {"fanal": 10_000, "others": 10_000},
            "4,000 scalars": {"fanal": 2_500, "others": 200},
        },
        "fanal, 20 scalars, quiet": loop(3.14e-6, 21e-6, 7.0, 10_000),
        "fanal, 20 scalars, busy thread": loop(3e-6, 450e-6, 7.0, 9_000),
        "wandb, 20 scalars, quiet": loop(321e-6, 12_023e-6, 107.0, 10_000),
        "wandb, 20 scalars, busy thread": loop(400e-6, 15e-3, 107.0, 5_000),
        "fanal, 4,000 scalars, quiet": loop(0.11e-3, 0.44e-3, 6.9, 2_500),
        "fanal, 4,000 scalars, busy thread": loop(0.11e-3, 4.9e-3, 6.9, 2_500),
        "wandb, 4,000 scalars, quiet": loop(34.5e-3, 91.9e-3, 95.0, 72),
        "wandb, 4,000 scalars, busy thread": loop(35e-3, 0.1, 95.0, 60),
        "fanal, 20 scalars, curves": {"closed_bytes_per_value": 3.27},
        "fanal, 4,000 scalars, curves": {"closed_bytes_per_value": 3.154},
        "rows_after_sigkill": 1000,
        "readable_after_seconds": {"median": 0.0008},
    }


def test_each_tool_has_a_row_with_its_medians(figures: dict[str, Any]) -> None:
    rows = [line for line in table(figures).splitlines() if line.startswith("| ")]
    assert rows[1] == "| fanal | 3.1 / 21 | 3.0 / 450 | 0.11 / 0.44 | 0.11 / 4.90 | 7.0 / 6.9 |"
    assert rows[2] == "| wandb 0.31.0 | 321 / 12,023 | 400 / 15,000 | 34.50 / 91.90 | 35.00 / 100.00 | 107.0 / 95.0 |"


def test_what_was_cut_short_is_said(figures: dict[str, Any]) -> None:
    assert "2.5 s before all rows were logged: wandb (72 of 200 rows of 4,000 scalars)." in table(figures)
    figures["wandb, 4,000 scalars, quiet"]["rows"] = spread(400)
    assert "before all rows" not in table(figures)


def test_bytes_of_curves_and_the_kill_are_said(figures: dict[str, Any]) -> None:
    assert "ours are 3.27 / 3.15." in table(figures)
    assert "1,000 of 1,000 rows are there after a SIGKILL" in table(figures)


def test_only_what_stands_between_the_markers_changes(figures: dict[str, Any]) -> None:
    text = f"# Title\n\n{BEGIN}\nold\n{END}\nend\n"
    once = rewrite(text, figures)
    assert once == f"# Title\n\n{BEGIN}\n{table(figures)}\n{END}\nend\n"
    assert rewrite(once, figures) == once


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_text_without_its_markers_is_refused(figures: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        rewrite(text, figures)
