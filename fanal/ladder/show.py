"""A forecast and its verdict in words and tables: for people, and the same figures for machines.

Guarantees: every sentence is made of the document or the summary, with units; no praise, no blame.
Does not: compute anything but the difference and the share it prints. Pictures are in `fanal/page`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fanal.ladder.forecast import LINES

Json = Any

NBSP = "\u00a0"
HONEST = (
    f"An honest 80{NBSP}% interval misses one time in five: one run inside it proves little, and one outside it "
    "disproves little."
)
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SIZES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def forecast_words(document: Mapping[str, Json]) -> str:
    """What is foretold, from what, and how sure it is: one paragraph."""
    metric = document["metrics"][document["headline"]]
    rungs, hero, convention = document["rungs"], document["hero"], document["compute"]["convention"]
    top = mean_loss(rungs[-1], document["headline"])
    times = hero["flops"][convention] / rungs[-1]["flops"][convention]
    smallest, largest, own = (amount(run["params_active"]) for run in (rungs[0], rungs[-1], hero))
    p10, p50, p90 = (metric[name][-1] for name in ("p10", "p50", "p90"))
    return (
        f"{_counted(len(rungs), 'rung')} of {smallest} to {largest} "
        f"active parameters foretell {p50:.3f} {metric['unit']['kind']} for the hero of "
        f"{own}, which computes {times:.1f} times as much as the largest rung. "
        f"The 80{NBSP}% interval is {p10:.3f} to {p90:.3f}; the largest rung has {top:.3f}. {_doubt(document)}"
    )


def _doubt(document: Mapping[str, Json]) -> str:
    """Which choice moves the answer most, in one sentence."""
    p50 = document["metrics"][document["headline"]]["p50"][-1]
    moves = [(entry["p50"] - p50, entry["choice"]) for entry in document["sensitivity"] if entry["p50"] is not None]
    move, choice = max(moves, key=lambda m: abs(m[0]))
    return f"Of the other choices tried, “{choice}” moves the median most, by {signed(move)}."


def verdict_words(summary: Mapping[str, Json]) -> str:
    """The result: foretold, measured, inside or outside, and what that is worth."""
    hero, foretold, lines = summary["hero"], summary["forecast"], summary["lines"]
    top = summary["rungs"][-1]["loss"]
    place = "inside" if hero["inside"] else "outside"
    side = "below" if hero["error"] < 0 else "above"
    sealed = "was sealed" if foretold["sealed_before_step_0"] else "was not sealed"
    first = (
        f"The hero measures {hero['loss']:.3f} {summary['unit']}: {place} the 80{NBSP}% interval "
        f"{foretold['p10']:.3f} to {foretold['p90']:.3f}, {abs(hero['error']):.3f} {side} the median "
        f"{foretold['p50']:.3f}. The forecast {sealed} before the hero's first step."
    )
    if summary["skill"] is None:
        return f"{first} It is no better than the largest rung, {top:.3f}: there is no gain to compare with. {HONEST}"
    gained = top - hero["loss"]
    others = ", ".join(f"{name} {lines[name]['value']:.3f}" for name in LINES if lines[name]["value"] is not None)
    return (
        f"{first} Of the {gained:.3f} that the hero gained over the largest rung, the error is "
        f"{percent(1 - summary['skill'])} and the interval's width {percent(summary['width_share'])}. "
        f"The lines say: {others}. {HONEST}"
    )


def result_text(summary: Mapping[str, Json]) -> str:
    """The end of a campaign as plain text: the verdict, and the methods against the measurement."""
    return f"{verdict_words(summary)}\n\n{method_table(summary)}"


def rung_table(document: Mapping[str, Json]) -> str:
    """The rungs and the hero's plan as a Markdown table, losses of the headline metric."""
    convention, metric = document["compute"]["convention"], document["headline"]
    rows = [
        [
            rung["name"],
            amount(rung["params_active"]),
            amount(rung["params_total"]),
            amount(rung["tokens"]),
            power(rung["flops"][convention]),
            f"{mean_loss(rung, metric):.4f}",
            " ".join(f"{loss:.4f}" for loss in rung["losses"][metric]) if len(rung["losses"][metric]) > 1 else "–",
        ]
        for rung in document["rungs"]
    ]
    hero = document["hero"]
    rows.append(
        [
            hero["run"],
            amount(hero["params_active"]),
            amount(hero["params_total"]),
            amount(hero["tokens"]),
            power(hero["flops"][convention]),
            "–",
            "–",
        ]
    )
    return table(("run", "active", "total", "tokens", "FLOPs", "loss", "by seed"), rows)


def method_table(summary: Mapping[str, Json]) -> str:
    """Forecast and lines against what was measured, as a Markdown table."""
    own = {**summary["forecast"], "error": summary["hero"]["error"]}
    own |= {"value": own["p50"], "skill": summary["skill"], "width_share": summary["width_share"]}
    rows = [_method("forecast", own), *(_method(f"line, {name}", summary["lines"][name]) for name in LINES)]
    return table(("method", "foretold", "80 %", "measured − foretold", "skill", "width / gain"), rows)


def _method(name: str, said: Mapping[str, Json]) -> list[str]:
    interval = "–" if said["p10"] is None else f"{said['p10']:.3f} – {said['p90']:.3f}"
    error = "–" if said["error"] is None else signed(said["error"])
    value, skill, width = (
        _or_dash(said[key], form) for key, form in (("value", "{:.3f}"), ("skill", "{:.2f}"), ("width_share", "{:.2f}"))
    )
    return [name, value, interval, error, skill, width]


def sensitivity_table(document: Mapping[str, Json]) -> str:
    """What moves the answer, as a Markdown table."""
    p50 = document["metrics"][document["headline"]]["p50"][-1]
    rows = [
        [entry["choice"], f"{entry['p50']:.3f}", signed(entry["p50"] - p50), f"{entry['p10']:.3f} – {entry['p90']:.3f}"]
        if entry["p50"] is not None
        else [entry["choice"], "–", "–", entry["why"]]
        for entry in document["sensitivity"]
    ]
    return table(("otherwise", "median", "moves by", "80 %"), rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that also reads as plain text: first column left, the others right, padded."""
    widths = [max(3, *(len(cells[i]) for cells in (head, *rows))) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    padded = [
        [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        for cells in (head, rule, *rows)
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in padded)


def mean_loss(rung: Mapping[str, Json], metric: str) -> float:
    """Of one rung, over its seeds."""
    losses = rung["losses"][metric]
    return sum(losses) / len(losses)


def amount(count: float) -> str:
    """A count in three figures: `23.6 K`, `1.17 M`; below a thousand as it is."""
    for size, letter in _SIZES:
        if count >= size * 0.9995:
            return f"{count / size:.3g}{NBSP}{letter}"
    return f"{count:.0f}"


def power(value: float) -> str:
    """A large number as `2.20e10`."""
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def signed(value: float) -> str:
    """Three decimals with a real sign."""
    return f"{value:+.3f}".replace("-", "−")


def percent(frac: float) -> str:
    """A share in whole per cent, as `54 %`."""
    return f"{100 * frac:.0f}{NBSP}%"


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value).replace("-", "−")


def _counted(count: int, noun: str) -> str:
    word = _WORDS[count].capitalize() if count < len(_WORDS) else str(count)
    return f"{word} {noun}{'' if count == 1 else 's'}"
