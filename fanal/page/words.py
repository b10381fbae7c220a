"""Numbers, spans of time and other people's strings as the page writes them.

Real minus signs, thousands by comma, a no-break space before a unit. `plain` takes control and
direction characters out of every string a person supplied, so that none can reorder what is read.
Nothing here reads a record or knows a language other than English.
"""

import unicodedata
from datetime import UTC, datetime

NBSP = "\u00a0"
_KEPT_CONTROLS = "\n\t"
_SI = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def figure(value: float, digits: int) -> str:
    """`value` with `digits` decimals, a real minus sign and commas between thousands."""
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def percent(frac: float, digits: int = 0) -> str:
    """A share as per cent: `54 %`."""
    return f"{figure(100 * frac, digits)}{NBSP}%"


def short(count: float) -> str:
    """A count in three figures: `451 K`, `9.83 T`; below a thousand as it is."""
    for size, letter in _SI:
        if abs(count) >= size * 0.9995:
            scaled = count / size
            digits = 0 if abs(scaled) >= 99.95 else 1 if abs(scaled) >= 9.995 else 2
            return f"{figure(scaled, digits)}{NBSP}{letter}"
    return figure(count, 0)


def duration(seconds: float) -> str:
    """A span in at most two units: `40 s`, `3 min 20 s`, `2 h 5 min`, `12 days 3 h`."""
    whole = max(0, round(seconds))
    for size, unit, rest_size, rest_unit in ((86_400, "days", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            big, rest = divmod(whole, size)
            named = "day" if unit == "days" and big == 1 else unit
            tail = f" {rest // rest_size}{NBSP}{rest_unit}" if rest // rest_size else ""
            return f"{big}{NBSP}{named}{tail}"
    return f"{whole}{NBSP}s"


def about(seconds: float) -> str:
    """A span that is an estimate, rounded to what it can claim: `about 40 s`, `about 3 min`."""
    if seconds >= 100 * 60:
        return f"about {duration(round(seconds / 600) * 600)}"
    if seconds >= 100:
        return f"about {duration(round(seconds / 60) * 60)}"
    if seconds >= 20:
        return f"about {duration(round(seconds / 10) * 10)}"
    return f"about {duration(max(1, seconds))}"


def clock(time_ns: int) -> str:
    """A moment to the second, UTC: `6 October 2026, 14:02:10 UTC`."""
    moment = datetime.fromtimestamp(time_ns / 1e9, tz=UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M:%S} UTC"


def signed(value: float, digits: int) -> str:
    """A difference with its sign: `+0.031`, `−0.013`."""
    return f"+{figure(value, digits)}" if value > 0 else figure(value, digits)


def spelled(count: int) -> str:
    """A small count as a word: `ten`; above twelve as figures."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    return words[count] if 0 <= count < len(words) else figure(count, 0)


def counted(count: int, noun: str) -> str:
    """`1 eval`, `3 evals`."""
    return f"{figure(count, 0)} {noun}" if count == 1 else f"{figure(count, 0)} {noun}s"


def plain(text: str) -> str:
    """`text` without control, direction and unpaired surrogate characters; line breaks and tabs stay."""
    kept = (c for c in text if c in _KEPT_CONTROLS or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    return "".join(kept)
