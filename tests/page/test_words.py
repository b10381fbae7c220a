"""Numbers and strings as people read them."""

import pytest

from fanal.page.words import about, clock, duration, figure, percent, plain, short, signed, spelled

NBSP = "\u00a0"


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (0.5, 1, "0.5"),
        (-0.0135, 3, "−0.013"),
        (-0.0001, 2, "0.00"),
        (1234567.0, 0, "1,234,567"),
        (-1234.5, 1, "−1,234.5"),
    ],
)
def test_a_figure_has_a_real_minus_commas_and_no_negative_zero(value: float, digits: int, said: str) -> None:
    assert figure(value, digits) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (999, "999"),
        (1000, f"1.00{NBSP}K"),
        (999_960, f"1.00{NBSP}M"),
        (451_000, f"451{NBSP}K"),
        (9.83e12, f"9.83{NBSP}T"),
    ],
)
def test_a_count_is_told_in_three_figures(count: float, said: str) -> None:
    assert short(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, f"0{NBSP}s"),
        (59.4, f"59{NBSP}s"),
        (59.6, f"1{NBSP}min"),
        (200, f"3{NBSP}min 20{NBSP}s"),
        (7500, f"2{NBSP}h 5{NBSP}min"),
        (86_400, f"1{NBSP}day"),
        (90_000 + 86_400, f"2{NBSP}days 1{NBSP}h"),
    ],
)
def test_a_span_is_told_in_at_most_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, f"about 1{NBSP}s"),
        (43.6, f"about 40{NBSP}s"),
        (100, f"about 2{NBSP}min"),
        (6400, f"about 1{NBSP}h 50{NBSP}min"),
    ],
)
def test_an_estimate_is_rounded_to_what_it_can_claim(seconds: float, said: str) -> None:
    assert about(seconds) == said


def test_a_moment_is_utc_and_says_so() -> None:
    assert clock(1_790_000_000_000_000_000) == "21 September 2026, 14:13:20 UTC"


def test_per_cent_and_differences_carry_their_signs() -> None:
    assert (percent(0.546, 1), signed(0.031, 3), signed(-0.0135, 3)) == (f"54.6{NBSP}%", "+0.031", "−0.013")


def test_small_counts_are_words() -> None:
    assert [spelled(n) for n in (0, 10, 13)] == ["no", "ten", "13"]


def test_control_and_direction_characters_are_taken_out_and_line_breaks_stay() -> None:
    assert plain("a\u202eb\u0000c\u200fd\n\te\ud800") == "abcd\n\te"
