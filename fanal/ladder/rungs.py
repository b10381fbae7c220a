"""What the rungs' records say: per rung its sizes, its compute by named conventions and its losses by seed.

Guarantees: only runs with role `rung` are opened, so nothing of the hero's rows, batches or evals can
enter a forecast; units and conventions are typed, and a ladder that mixes them is refused. Cost: one
series a run and metric. Does not: complete a rung that stopped early (it is refused), or fit anything.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fanal.campaign.derived import RunPlan
from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.errors import RefusedError
from fanal.ladder.fit import FloatArray, Points
from fanal.record.metrics import FULL_MACRO, PULSE_MACRO
from fanal.record.proof.manifest import read_manifest
from fanal.record.reading.read import Record, RunView

Json = Any

WITHOUT_HEAD, WITH_HEAD = "flops", "flops_with_head"
"""FLOPs conventions, by their names in `campaign/count.py`; the first is the default."""
METRICS = (PULSE_MACRO, FULL_MACRO)


@dataclass(frozen=True)
class Unit:
    """What a loss is counted in; losses of two units never meet in one ladder."""

    kind: str
    """`nats per token` or `bits per byte`."""
    tokenizer_sha256: str | None
    """Nats per token mean nothing without it."""
    eval_set: str
    """The frozen set that was scored: `pulse` or `full`."""


@dataclass(frozen=True)
class Rung:
    """One size at one share of its run: what it is, what it cost, what it measured."""

    name: str
    hidden: int
    params_total: int
    params_active: int
    tokens: int
    flops: Mapping[str, float]
    """By the name of the convention, for the share of the run that `losses` were measured at."""
    losses: tuple[float, ...]
    """One a seed."""
    unit: Unit
    done_frac: float = 1.0
    """Share of its run that is trained; 1 when complete."""

    def __post_init__(self) -> None:
        # an integer here is how 6·N·D overflows 64 bits in silence
        if any(type(value) is not float or not 0 < value < float("inf") for value in self.flops.values()):
            raise ValueError(f"rung {self.name}: FLOPs must be positive finite floats, got {dict(self.flops)}")
        if not self.losses or not all(np.isfinite(loss) and loss > 0 for loss in self.losses):
            raise RefusedError(
                f"rung {self.name}: a loss is missing or not finite ({list(self.losses)}); a run that diverged is "
                "no rung: train it again or leave it out"
            )

    @property
    def mean_loss(self) -> float:
        """Over seeds."""
        return float(np.mean(self.losses))


@dataclass(frozen=True)
class Rungs:
    """A ladder for one metric at one share of every run, ascending in compute.

    Raises: RefusedError where units or FLOPs conventions are mixed.
    """

    metric: str
    progress: float
    rungs: tuple[Rung, ...]

    def __post_init__(self) -> None:
        _same({rung.name: rung.unit for rung in self.rungs}, "units of loss (tokenizer and eval set among them)")
        _same({rung.name: tuple(sorted(rung.flops)) for rung in self.rungs}, "FLOPs conventions")

    @property
    def unit(self) -> Unit:
        return self.rungs[0].unit

    @property
    def seed_sd_frac(self) -> float:
        """Standard deviation of one run's log loss between seeds, pooled over the rungs that were repeated."""
        logs = [np.log(rung.losses) for rung in self.rungs if len(rung.losses) > 1]
        freedom = sum(len(values) - 1 for values in logs)
        return float(np.sqrt(sum(((v - v.mean()) ** 2).sum() for v in logs) / freedom)) if freedom else 0.0

    def points(self, convention: str = WITHOUT_HEAD) -> Points:
        """What a method sees of this ladder.

        Raises: RefusedError where a rung does not state its compute by `convention`.
        """
        unknown = [rung.name for rung in self.rungs if convention not in rung.flops]
        if unknown:
            raise RefusedError(f"FLOPs convention {convention!r} is not stated by {', '.join(unknown)}")
        columns = (
            [rung.flops[convention] for rung in self.rungs],
            [rung.mean_loss for rung in self.rungs],
            [len(rung.losses) for rung in self.rungs],
        )
        flops_R, loss_R, num_seeds_R = (np.array(column, dtype=np.float64) for column in columns)
        return Points(flops_R, loss_R, num_seeds_R, self.seed_sd_frac)

    def without(self, name: str) -> "Rungs":
        """The same ladder with one rung left out."""
        return Rungs(self.metric, self.progress, tuple(rung for rung in self.rungs if rung.name != name))


@dataclass(frozen=True)
class HeroPlan:
    """What is known of the hero before it starts: its plan, and nothing it measured."""

    run: str
    hidden: int
    params_total: int
    params_active: int
    tokens: int
    flops: Mapping[str, float]
    """Of the whole run, by the name of the convention."""
    num_steps: int
    seq_tokens: int
    batch_seqs: int
    eval_steps: Mapping[str, tuple[int, ...]]
    """By eval set (`pulse`, `full`): steps after which it is scored."""

    @classmethod
    def of(cls, plan: RunPlan) -> "HeroPlan":
        """The hero's part of a campaign's plan."""
        counts = plan.counts
        return cls(
            plan.run,
            plan.hidden,
            counts.params_total,
            counts.params_active,
            plan.tokens,
            {WITHOUT_HEAD: float(counts.flops), WITH_HEAD: float(counts.flops_with_head)},
            plan.num_steps,
            plan.seq_tokens,
            plan.batch_seqs,
            {"pulse": plan.pulse_steps, "full": plan.full_steps},
        )

    def progress(self, metric: str) -> tuple[float, ...]:
        """Shares of the run at which `metric` is scored; before the first step nothing is foretold."""
        return tuple(step / self.num_steps for step in self.eval_steps[eval_set(metric)] if step > 0)


@dataclass(frozen=True)
class LadderRecord:
    """Everything of the rungs' records that a forecast may use."""

    levels: Mapping[str, tuple[Rungs, ...]]
    """By metric: the ladder at each share of the hero's run at which the metric is scored, ascending."""
    shared: Mapping[str, Json]
    """What the campaign's own run says of all: fingerprint, mixture, tokenizer, evals."""
    source: Mapping[str, Json]
    """By run: SHA-256 of the values that were read, and of the last segment of each of its writers."""


def eval_set(metric: str) -> str:
    """`pulse` of `eval/pulse/macro`."""
    parts = metric.split("/")
    if len(parts) < 3 or parts[0] != "eval":
        raise ValueError(f"a metric to forecast must read eval/<set>/<what>, got {metric!r}")
    return parts[1].removesuffix("_bpb")


def read_rungs(record: Record, hero: HeroPlan, metrics: Sequence[str] = METRICS) -> LadderRecord:
    """The rungs of a record, at the shares of a run at which the hero will be scored.

    A rung's eval belongs to a share when rounding to whole steps is all that parts them; it then counts at
    its own share of the rung's compute. Elsewhere the loss is interpolated linearly in the logarithm of the share.

    Raises: RefusedError where no rung is there, one is not finished, or one has not scored a metric.
    """
    views = {name: view for name, view in record.runs.items() if view.role == "rung"}
    if not views:
        raise RefusedError("the record holds no run with role 'rung': train the rungs first")
    shared = _shared(record)
    facts = {name: shared["runs"].get(name) or view.config for name, view in views.items()}
    groups: dict[str, list[str]] = {}
    for name in views:
        groups.setdefault(re.sub(r"-s\d+$", "", name), []).append(name)
    ordered = sorted(groups, key=lambda name: facts[groups[name][0]]["counts"]["flops"])
    levels: dict[str, tuple[Rungs, ...]] = {}
    for metric in metrics:
        curves = {name: _Curve.read(view, metric, int(facts[name]["num_steps"])) for name, view in views.items()}
        sizes = [_Size(name, facts[groups[name][0]], [curves[run] for run in groups[name]]) for name in ordered]
        unit = _unit(metric, shared)
        levels[metric] = tuple(
            Rungs(metric, share, tuple(size.at(share, 0.5 / hero.num_steps, unit) for size in sizes))
            for share in hero.progress(metric)
        )
    source = {name: _source(record, view, metrics) for name, view in views.items()}
    return LadderRecord(levels, {key: value for key, value in shared.items() if key != "runs"}, source)


@dataclass(frozen=True)
class _Curve:
    """One run's losses by share of the run, from the first step on."""

    run: str
    metric: str
    num_steps: int
    shares: FloatArray
    losses: FloatArray

    @classmethod
    def read(cls, view: RunView, metric: str, num_steps: int) -> "_Curve":
        known = metric in view.keys()  # noqa: SIM118  (a view is no mapping)
        series = view.series(metric) if known else None
        trained = series.steps > 0 if series else None
        if series is None or trained is None or not trained.any():
            raise RefusedError(f"run {view.id} has no {metric!r}: score it, or leave the metric out of [forecast]")
        return cls(view.id, metric, num_steps, series.steps[trained] / num_steps, series.values[trained])

    def at(self, share: float, rounding: float) -> tuple[float, float]:
        """The share that counts for `share`, and the loss there; `rounding` is half a step of the hero's run."""
        nearest = int(np.argmin(np.abs(self.shares - share)))
        if abs(self.shares[nearest] - share) <= rounding + 0.5 / self.num_steps + 1e-9:
            return float(self.shares[nearest]), float(self.losses[nearest])
        after = int(np.searchsorted(self.shares, share))
        if after in (0, len(self.shares)):
            raise RefusedError(
                f"run {self.run}: {self.metric} is scored from {100 * self.shares[0]:.1f} to "
                f"{100 * self.shares[-1]:.1f} % of the run, and {100 * share:.1f} % lies outside its evals: finish the "
                "run, score it there, or leave its size out of the ladder"
            )
        return share, float(
            np.interp(np.log(share), np.log(self.shares[after - 1 : after + 1]), self.losses[after - 1 : after + 1])
        )


@dataclass(frozen=True)
class _Size:
    """One size of the ladder: its plan, and a curve a seed."""

    name: str
    facts: Mapping[str, Json]
    curves: Sequence[_Curve]

    def at(self, share: float, rounding: float, unit: Unit) -> Rung:
        counts = self.facts["counts"]
        found = [curve.at(share, rounding) for curve in self.curves]
        return Rung(
            self.name,
            int(self.facts["hidden"]),
            int(counts["params_total"]),
            int(counts["params_active"]),
            int(self.facts["tokens"]),
            {convention: float(counts[convention]) * found[0][0] for convention in (WITHOUT_HEAD, WITH_HEAD)},
            tuple(loss for _, loss in found),
            unit,
        )


def _shared(record: Record) -> dict[str, Json]:
    """What holds for all runs, from the campaign's own run; a record without one gives empty fields."""
    plans = record.campaign.events("plan") if record.campaign else []
    corpora = record.campaign.events("corpus") if record.campaign else []
    plan = plans[-1].fields if plans else {"fingerprint": None, "resolved": {}}
    corpus = corpora[-1].fields if corpora else {}
    written = plan["resolved"].get("campaign", {})
    return {
        "campaign": written.get("name"),
        "fingerprint": plan["fingerprint"],
        "mixture": written.get("mixture", {}).get("phase", []),
        "evals": written.get("evals", {}),
        "eval_sets": corpus.get("evals", []),
        "corpus_fingerprint": corpus.get("fingerprint"),
        "tokenizer_sha256": corpus.get("tokenizer_sha256"),
        "runs": {run["run"]: run for run in plan["resolved"].get("runs", ())},
    }


def _unit(metric: str, shared: Mapping[str, Json]) -> Unit:
    kind = "bits per byte" if "_bpb/" in metric else "nats per token"
    return Unit(kind, shared["tokenizer_sha256"], eval_set(metric))


def _source(record: Record, view: RunView, metrics: Sequence[str]) -> dict[str, Json]:
    """Hashes that pin what was read of one run: the values themselves, and each writer's last segment."""
    series = {metric: view.series(metric) for metric in metrics}
    values = {metric: [s.steps.tolist(), s.values.tolist()] for metric, s in series.items()}
    manifest = read_manifest(record.path)
    entries = [entry for entry in manifest.entries if entry.run == view.id] if manifest else []
    return {
        "values_sha256": sha256_hex(canonical_json(values)),
        "segments": {f"{entry.attempt}/{entry.writer}": entry.last_sha256 for entry in entries},
    }


def _same(by_rung: Mapping[str, object], what: str) -> None:
    if len(set(by_rung.values())) > 1:
        listed = "; ".join(f"{name}: {value}" for name, value in by_rung.items())
        raise RefusedError(f"a ladder cannot mix {what}: {listed}")
