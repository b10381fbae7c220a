"""A ladder whose law is known: `fake_ladder(E, alpha, noise)`, in memory or written as a record.

The loss of a run of C FLOPs at a share g of it is E + A · (C·g)^−alpha, times e^(noise·normal) of its own; the smallest
rung ends at 4.6. Sizes, steps and conventions are those of the tiny campaign with rungs 16, 20, 24, 32 and hero 40.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fanal.campaign.derived import CampaignPlan, RunPlan
from fanal.campaign.fingerprint import plain
from fanal.campaign.plan import plan_campaign
from fanal.campaign.spec import Pulse
from fanal.ladder.forecast import forecast
from fanal.ladder.rungs import (
    METRICS,
    WITH_HEAD,
    WITHOUT_HEAD,
    HeroPlan,
    LadderRecord,
    Rung,
    Rungs,
    Unit,
    eval_set,
    read_rungs,
)
from fanal.ladder.score import score, summarise
from fanal.ladder.seal import seal
from fanal.record.attempt import Run, Start, start
from fanal.record.reading.read import open_record
from tests.worlds.campaign import tiny_campaign

TOKENIZER = "7" * 64
START_LOSS = 5.7
PULSE = Pulse(tokens_per_domain=64, every=0.1)


@dataclass(frozen=True)
class FakeLadder:
    """The law, the plan and one noisy factor a run."""

    E: float
    alpha: float
    plan: CampaignPlan
    factors: dict[str, float]
    """By run: e^(noise · normal)."""
    scale: float
    ids: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Runs by rung, seed 0 first."""

    @property
    def hero(self) -> HeroPlan:
        return HeroPlan.of(self.plan.hero)

    def law(self, flops: float) -> float:
        """The loss without noise."""
        return self.E + self.scale * flops**-self.alpha

    def loss(self, run: RunPlan, share: float) -> float:
        """What `run` measures after a share of its steps."""
        return self.factors[run.run] * (self.law(run.counts.flops * share) if share else START_LOSS)

    def record(self) -> LadderRecord:
        """What `read_rungs` would read, without a record."""
        levels = {m: tuple(self._level(m, share) for share in self.hero.progress(m)) for m in METRICS}
        shared = {"campaign": "tiny", "fingerprint": self.plan.fingerprint, "tokenizer_sha256": TOKENIZER}
        return LadderRecord(levels, shared, {})

    def write(self, folder: Path, *, hero: bool = False) -> Path:
        """The campaign's run and the rungs as a record; with `hero`, the hero's rows as well (unsealed)."""
        campaign = start(folder, Start(id="campaign", role="campaign"))
        campaign.event("plan", fingerprint=self.plan.fingerprint, resolved=json.loads(self.plan.resolved))
        campaign.event("corpus", fingerprint="c" * 64, tokenizer_sha256=TOKENIZER, domains=[], evals=[])
        campaign.finish()
        for plan in self.plan.rungs:
            self.train(self.begin(folder, plan), plan)
        if hero:
            self.train(self.begin(folder, self.plan.hero), self.plan.hero)
        return folder

    def finish(self, folder: Path) -> Path:
        """A whole campaign in `folder/record`: rungs, sealed forecast, hero scored at each eval, verdict."""
        record = self.write(folder / "record")
        run, plan = self.begin(record, self.plan.hero), self.plan.hero
        document = forecast(read_rungs(open_record(record), self.hero), self.hero)
        sha256 = seal(run, document)
        for step in range(plan.num_steps + 1):
            self.evals(run, plan, step)
            for metric, steps in zip(METRICS, (plan.pulse_steps, plan.full_steps), strict=True):
                share = step / plan.num_steps
                scored = score(document, metric, share, self.loss(plan, share)) if step in steps else None
                if scored is not None:
                    run.event("forecast.score", step=step, **scored.event_fields(sha256))
        run.finish()
        seconds = {"data": 12.5, "train/d16": 3.0, "train/hero": 65.0}
        summary = summarise(document, self.loss(plan, 1.0), sealed_before_step_0=True, seconds=seconds)
        campaign = start(record, Start(id="campaign", role="campaign"))
        campaign.event("verdict", summary=summary)
        campaign.finish()
        return folder

    def begin(self, folder: Path, plan: RunPlan) -> Run:
        """An attempt of a run, without rows."""
        return start(folder, Start(id=plan.run, role=plan.role, config=plain(plan)))

    def train(self, run: Run, plan: RunPlan) -> None:
        """All rows of a run, then its end."""
        for step in range(plan.num_steps):
            self.evals(run, plan, step)
            run.log({"train/loss": self.loss(plan, max(step, 1) / plan.num_steps)}, step=step)
        self.evals(run, plan, plan.num_steps)
        run.finish()

    def evals(self, run: Run, plan: RunPlan, step: int) -> None:
        """What is scored after `step` steps."""
        for metric, steps in zip(METRICS, (plan.pulse_steps, plan.full_steps), strict=True):
            if step in steps:
                run.log({metric: self.loss(plan, step / plan.num_steps)}, step=step)

    def _level(self, metric: str, share: float) -> Rungs:
        plans = {plan.run: plan for plan in self.plan.rungs}
        rungs = [self._rung(metric, share, [plans[name] for name in names]) for names in self.ids.values()]
        return Rungs(metric, share, tuple(rungs))

    def _rung(self, metric: str, share: float, plans: list[RunPlan]) -> Rung:
        first = plans[0]
        counts, scored = first.counts, first.pulse_steps if eval_set(metric) == "pulse" else first.full_steps
        share = min((step / first.num_steps for step in scored), key=lambda own: abs(own - share))
        flops = {WITHOUT_HEAD: counts.flops * share, WITH_HEAD: counts.flops_with_head * share}
        losses = tuple(self.loss(plan, share) for plan in plans)
        unit = Unit("nats per token", TOKENIZER, eval_set(metric))
        return Rung(
            first.run, first.hidden, counts.params_total, counts.params_active, first.tokens, flops, losses, unit
        )


def fake_ladder(E: float = 2.6, alpha: float = 0.2, noise: float = 0.0, *, seed: int = 0) -> FakeLadder:
    """Four rungs (the two smallest with three seeds) and a hero under one law."""
    rungs, extra = (16, 20, 24, 32), {16: 2, 20: 2}
    plan = plan_campaign(
        tiny_campaign(ladder__rungs=rungs, ladder__hero=40, ladder__extra_seeds=extra, evals__pulse=PULSE)
    )
    generator = np.random.default_rng(seed)
    factors = {run.run: float(np.exp(noise * generator.normal())) for run in plan.runs}
    smallest = min(run.counts.flops for run in plan.rungs)
    ids = {f"d{h}": [f"d{h}", *(f"d{h}-s{k + 1}" for k in range(extra.get(h, 0)))] for h in rungs}
    return FakeLadder(E, alpha, plan, factors, (4.6 - E) * smallest**alpha, ids)
