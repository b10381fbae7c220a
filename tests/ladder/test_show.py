"""Words and tables say what the document and the summary hold, hit and miss in the same tone."""

import pytest

from fanal.ladder.forecast import forecast
from fanal.ladder.score import summarise
from fanal.ladder.show import (
    HONEST,
    amount,
    forecast_words,
    method_table,
    power,
    rung_table,
    sensitivity_table,
    signed,
    table,
    verdict_words,
)
from fanal.record.metrics import FULL_MACRO
from tests.worlds.ladder import fake_ladder

LADDER = fake_ladder(noise=0.01)
DOCUMENT = forecast(LADDER.record(), LADDER.hero)
END = DOCUMENT["metrics"][FULL_MACRO]
P10, P50, P90 = (END[name][0] for name in ("p10", "p50", "p90"))
TOP = sum(DOCUMENT["rungs"][-1]["losses"][FULL_MACRO])


def words(measured: float, *, sealed: bool = True) -> str:
    return verdict_words(summarise(DOCUMENT, measured, sealed_before_step_0=sealed, seconds={}))


def test_the_paragraph_names_median_interval_and_what_it_rests_on() -> None:
    text = forecast_words(DOCUMENT)
    assert text.startswith("Four rungs of ")
    for value in (P10, P50, P90):
        assert f"{value:.3f}" in text
    assert "nats per token" in text
    assert "moves the median most" in text


def test_inside_and_outside_are_told_alike() -> None:
    inside, outside = words(P50), words(P10 - 0.1)
    assert "inside the 80\u00a0% interval" in inside
    assert "outside the 80\u00a0% interval" in outside
    assert f"{P50 - P10 + 0.1:.3f} below the median" in outside
    assert "0.000 above the median" in inside


def test_every_verdict_says_that_an_honest_interval_misses() -> None:
    for measured in (P50, P10 - 0.1, P90 + 0.1, TOP + 0.1):
        assert HONEST in words(measured)
    assert "misses one time in five" in HONEST


def test_a_hero_that_gained_nothing_is_said_to_have_gained_nothing() -> None:
    assert "no better than the largest rung" in words(TOP + 0.1)


def test_a_forecast_that_was_late_is_said_to_be_late() -> None:
    assert "was not sealed before the hero's first step" in words(P50, sealed=False)
    assert "was sealed before the hero's first step" in words(P50)


@pytest.mark.parametrize("made", [rung_table(DOCUMENT), sensitivity_table(DOCUMENT)])
def test_tables_are_rectangular(made: str) -> None:
    widths = {line.count("|") for line in made.splitlines()}
    assert len(widths) == 1


def test_the_rungs_table_has_every_rung_its_seeds_and_the_hero() -> None:
    made = rung_table(DOCUMENT).splitlines()
    assert [line.split()[1] for line in made[2:]] == ["d16", "d20", "d24", "d32", "hero"]
    assert all(f"{loss:.4f}" in made[2] for loss in DOCUMENT["rungs"][0]["losses"][FULL_MACRO])


def test_the_methods_table_holds_forecast_and_lines_against_the_measurement() -> None:
    made = method_table(summarise(DOCUMENT, P50 - 0.02, sealed_before_step_0=True, seconds={})).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in made[2:]]
    assert cells[0][:4] == ["forecast", f"{P50:.3f}", f"{P10:.3f} – {P90:.3f}", "−0.020"]
    lines = ("asymptote 0", "asymptote 1.5", "last two rungs")
    assert [row[:2] for row in cells[1:]] == [[f"line, {name}", f"{END['lines'][name][0]:.3f}"] for name in lines]


@pytest.mark.parametrize(
    ("count", "text"),
    [(512, "512"), (23_600, "23.6\u00a0K"), (999_900, "1\u00a0M"), (1_170_000, "1.17\u00a0M"), (5.35e11, "535\u00a0B")],
)
def test_amounts_have_three_figures(count: float, text: str) -> None:
    assert amount(count) == text


def test_numbers_are_written_with_real_signs() -> None:
    assert (signed(-0.0514), signed(0.02)) == ("−0.051", "+0.020")
    assert power(2.2e10) == "2.20e10"
    assert table(("a", "long"), [["1", "2"]]) == "| a   | long |\n| --- | ---: |\n| 1   |    2 |"
