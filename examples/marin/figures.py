"""The public figures as they stand in the tables: what each column is called here, in which unit, and its rows.

A row is (step, time in ns or 0 where the source has none, values by key). Blank cells give no value. Nothing is
computed but unit-free renaming; what a column of the source says of itself is in `METRICS`.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = tuple[int, int, dict[str, float]]


@dataclass(frozen=True)
class Metric:
    """What a key means."""

    pattern: str
    text: str
    unit: str
    better: str | None
    source: str


DENSE = {
    "train_loss": "train/loss",
    "grad_norm": "train/grad_norm",
    "learning_rate": "lr/muonh",
    "step_seconds": "train/step_seconds",
    "tokens": "train/tokens",
    "tokens_per_s": "train/tokens_per_second",
    "mfu_pct": "train/mfu_percent",
    "moe_drop_fraction": "router/dropped_frac",
}
LATE = {"tokens": "train/tokens", "train_loss": "train/loss"}
ROUTER = {
    "router_bias_max": "router/bias_max",
    "router_bias_min": "router/bias_min",
    "margin_max": "router/margin_max",
    "margin_min": "router/margin_min",
    "routing_entropy_mean": "router/entropy_mean",
    "capacity_overflow_rate_mean": "router/capacity_overflow_frac_mean",
}
EVAL_OF_MODE = {"train_routing": "eval/paloma", "dropless": "eval_dropless/paloma"}
"""With the capacity drops of training, and without."""
MACRO = "eval_dropless/paloma/macro/loss"

_DENSE = "hero_dense.csv"
_EVALS = "hero_eval_domains.csv"
METRICS = (
    Metric("train/loss", "Cross entropy of the step's batch", "nats per token", "lower", _DENSE),
    Metric("train/grad_norm", "Global gradient norm; nothing is clipped in this run", "", None, _DENSE),
    Metric("lr/muonh", "MuonH rate, computed from the schedule; Adam's is 3/13 of it", "", None, _DENSE),
    Metric(
        "train/step_seconds",
        "Wall time of that step alone, without waiting for data, evals and checkpoints",
        "seconds",
        "lower",
        _DENSE,
    ),
    Metric("train/tokens", "Tokens drawn up to and including the step", "tokens", None, _DENSE),
    Metric("train/tokens_per_second", "Tokens of a step over its seconds", "tokens/s", "higher", _DENSE),
    Metric("train/mfu_percent", "Model FLOP utilisation", "percent", "higher", _DENSE),
    Metric("router/dropped_frac", "Share of routed assignments that were dropped", "", "lower", _DENSE),
    Metric("router/bias_*", "Extreme of `router_bias`, which a balancing rule sets and no gradient trains", "", None,
           "router_bias_first_800_steps.csv"),
    Metric("router/margin_*", "Extreme of unbiased logit less the (K+1)-th biased logit", "", None,
           "router_bias_first_800_steps.csv"),
    Metric("router/entropy_mean", "Routing entropy, mean over layers; ln 384 = 5.951 is uniform", "nats", None,
           "router_bias_first_800_steps.csv"),
    Metric("router/capacity_overflow_frac_mean", "Share of assignments beyond capacity, mean over layers", "", "lower",
           "router_bias_first_800_steps.csv"),
    Metric("eval/paloma/*/loss", "Paloma loss with the capacity drops of training", "nats per token", "lower", _EVALS),
    Metric("eval/paloma/*/bpb", "The same in bits", "bits per byte", "lower", _EVALS),
    Metric("eval_dropless/paloma/*/loss", "Paloma loss without capacity drops", "nats per token", "lower", _EVALS),
    Metric("eval_dropless/paloma/*/bpb", "The same in bits", "bits per byte", "lower", _EVALS),
    Metric("progress", "Share of the run's steps", "", None, "hero_ladder.json"),
)  # fmt: skip
"""Every key of the record."""


def dense_rows(folder: Path) -> Iterator[Row]:
    """Training curves of the hero, thinned by who typed them."""
    yield from _renamed(folder / _DENSE, DENSE)


def late_rows(folder: Path) -> Iterator[Row]:
    """Losses of the last captured stretch."""
    yield from _renamed(folder / "hero_late_loss.csv", LATE)


def router_rows(folder: Path) -> Iterator[Row]:
    """Router bias over the first 800 steps."""
    yield from _renamed(folder / "router_bias_first_800_steps.csv", ROUTER)


def eval_rows(folder: Path) -> list[Row]:
    """One row a step: the 16 Paloma domains, their means, and the macro means that only the ladder's file has."""
    by_step: dict[int, Row] = {}
    for line in _lines(folder / _EVALS):
        step = int(line["step"])
        _, time_ns, values = by_step.setdefault(step, (step, _time_ns(line["unix_time"]), {}))
        place = f"{EVAL_OF_MODE[line['mode']]}/{line['domain']}"
        values.update({f"{place}/{name}": float(line[name]) for name in ("loss", "bpb") if line[name]})
        assert time_ns == _time_ns(line["unix_time"]), f"{_EVALS}: step {step} has two times"
    for point in ladder(folder)["hero_trajectory"]:
        _, _, values = by_step.setdefault(point["step"], (point["step"], 0, {}))
        values[MACRO] = point["paloma_macro_loss"]
        if point["paloma_macro_bpb"] is not None:
            values[MACRO.replace("/loss", "/bpb")] = point["paloma_macro_bpb"]
    return [by_step[step] for step in sorted(by_step)]


def rung_rows(folder: Path, rung: str) -> list[Row]:
    """The macro evals of one rung of the hero's ladder."""
    points = [p for p in ladder(folder)["measurements"] if p["set"] == "hero_ladder_2026_08" and p["rung"] == rung]
    rows = [
        (p["step"], 0, {MACRO: p["loss"], "train/tokens": float(p["tokens"]), "progress": p["progress"]})
        for p in points
    ]
    return sorted(rows, key=lambda row: row[0])


def ladder(folder: Path) -> dict[str, Any]:
    """Rungs, fit, forecasts and measurements as published."""
    return json.loads((folder / "hero_ladder.json").read_text("utf-8"))


def mixture(folder: Path) -> dict[str, Any]:
    """Shares of training tokens by phase and cell, and the domains' names."""
    phases: dict[int, dict[str, float]] = {}
    for line in _lines(folder / "mixture_phases.csv"):
        phases.setdefault(int(line["phase"]), {})[line["cell"]] = float(line["weight"])
    names = {line["domain_id"]: line["domain"] for line in _lines(folder / "mixture_domains.csv")}
    return {"phases": phases, "domains": names}


def norm_ranges(folder: Path) -> list[dict[str, Any]]:
    """Range over the first day of each parameter tensor's norm, with the optimizer that trains it."""
    return [
        {
            "optimizer_group": line["optimizer_group"],
            "tensor": line["tensor"],
            **{name: float(line[name]) for name in ("norm_min", "norm_max", "norm_avg")},
        }
        for line in _lines(folder / "param_norms_first_day.csv")
    ]


def incidents(folder: Path) -> Iterator[dict[str, Any]]:
    """The incidents that people wrote down, one a row of the table."""
    for line in (folder / "incidents.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 7 or not cells[0].isdigit():
            continue
        number, steps, when, symptom, cause, resolution, link = cells
        first, last = _step_range(steps)
        yield {
            "id": number,
            "first_step": first,
            "last_step": last,
            "when": f"{when} (2026, UTC); steps as stated: {steps}",
            "symptom": symptom,
            "cause": cause,
            "resolution": resolution,
            "link": None if link == "-" else link,
        }


def patterns(folder: Path) -> list[str]:
    """What whoever typed the series saw in them."""
    text = (folder / "incidents.md").read_text("utf-8")
    return [line[2:] for line in text.partition("Patterns worth testing for")[2].splitlines() if line.startswith("- ")]


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Letter and address of each public capture that the figures were typed from."""
    text = (folder / "README.md").read_text("utf-8").partition("Sources")[2]
    for line in text.splitlines():
        if (found := re.fullmatch(r"- ([A-Z]) (.+)", line)) is not None:
            yield found[1], found[2]


def _step_range(text: str) -> tuple[int | None, int | None]:
    """First and last step that a cell names; numbers in brackets are seconds or restores."""
    plain = re.sub(r"\([^)]*\)", "", text)
    words = re.findall(r"\d[\d,x]*", plain)
    numbers = [int(word.replace(",", "")) for word in words if "x" not in word]  # 81,9xx is no number
    return (min(numbers), max(numbers)) if numbers else (None, None)


def _renamed(path: Path, names: dict[str, str]) -> Iterator[Row]:
    for line in _lines(path):
        values = {key: float(line[column]) for column, key in names.items() if line[column]}
        yield int(line["step"]), _time_ns(line.get("unix_time", "")), values


def _time_ns(seconds: str) -> int:
    return round(float(seconds) * 1000) * 1_000_000 if seconds else 0


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
