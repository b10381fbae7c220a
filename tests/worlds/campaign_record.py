"""A campaign's record made on the spot, without training: every event and series, at any point of the campaign.

The plan is a packaged campaign's (further seeds for its smallest rung only), the losses are a power law
with seeded noise, the forecast is the ladder's own over the made rungs, the clock is made too. `Made`
goes stage by stage, so that a test can stop anywhere, look, and go on.
"""

import json
import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fanal
from fanal.campaign.derived import RunPlan
from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load
from fanal.campaign.spec import Campaign
from fanal.ladder.forecast import forecast
from fanal.ladder.rungs import HeroPlan, read_rungs
from fanal.ladder.score import score
from fanal.ladder.seal import seal
from fanal.record import metrics
from fanal.record.attempt import Run, Start, start

DATA_STAGES = ("normalise", "exact_duplicates", "near_duplicates", "decontaminate", "tokens", "shards")
START_NS = 1_790_000_000_000_000_000
ASYMPTOTE, SLOPE, SCALE = 1.5, 0.124, 3.1
EVEN_LOSS = math.log(1024)
WORDS = {
    3.5: " rises in the hills north of the town, and was used by the mills until 1921.",
    3.8: " runs through the town, and was used by the mills until the",
    4.2: " was made in the north of the town and had a long",
    4.7: " was the of the state and the great of the",
    5.5: " of the and the in of to a was the",
    9.9: "qzx~ eThe  aa n,oe tlr is d",
}


class Clock:
    """A clock that goes only when told to."""

    def __init__(self, start_ns: int) -> None:
        self.now_ns = start_ns

    def __call__(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def wait(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


@dataclass(frozen=True)
class Recipe:
    """What a made campaign may be made of."""

    campaign: str = "lantern"
    """A packaged campaign; `firefly` is the small one."""
    start_ns: int = START_NS
    hero_shift: float = 0.022
    """By how much of its loss the hero misses the law."""
    hostile: str | None = None
    """Put where people's words go: title, domain, prompt, sample."""
    bad_steps: tuple[int, ...] = ()
    """Steps of the hero whose training loss is NaN and whose update is skipped."""
    bad_evals: tuple[int, ...] = ()
    """Indices of the hero's pulse evals that are NaN, every domain and the mean."""


class Made:
    """A campaign that is written stage by stage into `folder`."""

    def __init__(self, folder: Path, recipe: Recipe = Recipe()) -> None:
        self.folder, self.recipe = folder, recipe
        self.record = folder / "record"
        self.clock = Clock(recipe.start_ns)
        self.document: dict[str, Any] = {}
        self.written = _campaign(recipe)
        self.plan = plan_campaign(self.written)
        self.domains = [s.name for s in self.written.corpus.source]
        self._stages_done, self._open_stage = 0, ""
        self._rung: Run | None = None
        self._began = 0
        self._rung_step, self._rungs_done = 0, 0
        self._hero: Run | None = None
        self._hero_step = 0
        with self._timed():
            self.run = start(
                self.record, Start(clock=self.clock, id="campaign", role="campaign", name=self.written.name)
            )
            fields = {"fingerprint": sha256_hex(self.plan.resolved), "resolved": json.loads(self.plan.resolved)}
            self.run.event("plan", **fields)

    def data(self, until: str | None = None) -> "Made":
        """Run the data stages, or only up to the beginning of `until`; a second call goes on from there."""
        with self._timed():
            for stage in DATA_STAGES[self._stages_done :]:
                if self._open_stage != stage:
                    self.run.event("stage.start", stage=f"data/{stage}")
                self._open_stage = stage
                if stage == until:
                    return self
                self.clock.wait(2.4)
                spent = {"seconds": 2.4, "cpu_seconds": 3.1}
                self.run.event("stage.end", stage=f"data/{stage}", **spent, report=_books(stage))
                self._stages_done += 1
            self.run.event("corpus", **_corpus(self.domains))
        return self

    def rungs(self, until: str | None = None, frac: float = 1.0) -> "Made":
        """Train every rung, or stop inside `until` at a share of its run; a second call goes on from there."""
        for plan in self.plan.rungs[self._rungs_done :]:
            last = round((frac if plan.run == until else 1.0) * plan.num_steps)
            with self._timed():
                if self._rung is None:
                    self._began = self.clock.now_ns
                    self.run.event("stage.start", stage=f"train/{plan.run}")
                    self._rung = start(self.record, Start(clock=self.clock, id=plan.run, role="rung", name=plan.run))
                self._train(self._rung, plan, (self._rung_step, last))
                self._rung_step = last
                if last < plan.num_steps:
                    return self
                self._rung.finish()
                spent = (self.clock.now_ns - self._began) / 1e9
                self.run.event("stage.end", stage=f"train/{plan.run}", seconds=spent, cpu_seconds=2 * spent, report={})
                self._rung, self._rung_step, self._rungs_done = None, 0, self._rungs_done + 1
        return self

    def seal(self) -> "Made":
        """Forecast the hero from the rungs and seal it."""
        hero = HeroPlan.of(self.plan.hero)
        with self._timed():
            self.run.event("stage.start", stage="forecast")
            self._hero = start(self.record, Start(clock=self.clock, id="hero", role="hero", name="hero"))
            self.document = forecast(read_rungs(fanal.open(self.record), hero), hero)
            seal(self._hero, self.document)
            self.clock.wait(0.8)
            self.run.event("stage.end", stage="forecast", seconds=0.8, cpu_seconds=0.8, report={})
            self.run.event("stage.start", stage="train/hero")
        return self

    def hero(self, frac: float) -> "Made":
        """Train the hero on to a share of its run."""
        assert self._hero is not None
        last = round(frac * self.plan.hero.num_steps)
        with self._timed():
            self._train(self._hero, self.plan.hero, (self._hero_step, last))
        self._hero_step = last
        return self

    def interrupt(self, reason: str = "Ctrl-C") -> "Made":
        """End the hero's attempt and the campaign's in good order, before their ends."""
        assert self._hero is not None
        with self._timed():
            self._hero.finish("interrupted", reason)
            self.run.finish("interrupted", reason)
        return self

    def resume(self) -> "Made":
        """Begin a second attempt at the step after the last checkpoint."""
        self._hero_step -= 10
        with self._timed():
            self.run = start(self.record, Start(clock=self.clock, id="campaign", role="campaign"))
            self._hero = start(
                self.record, Start(clock=self.clock, id="hero", role="hero", from_step=self._hero_step + 1)
            )
        return self

    def finish(self) -> "Made":
        """End the hero and pronounce the verdict."""
        assert self._hero is not None
        with self._timed():
            self._hero.finish()
            self.run.event("stage.end", stage="train/hero", seconds=90.0, cpu_seconds=170.0, report={})
            loss = fanal.open(self.record).runs["hero"].series(metrics.FULL_MACRO).values[-1]
            self.run.event("verdict", summary={"hero": {"loss": float(loss), "inside": True}, "seconds": 300.0})
            self.run.finish()
        return self

    def close(self) -> None:
        """End whatever is open, so that a temporary folder may go."""
        with self._timed():
            for run in (self._rung, self._hero, self.run):
                if run is not None:
                    run.finish("interrupted", "the test ended")

    @contextmanager
    def _timed(self) -> Iterator[None]:
        with patch.object(time, "time_ns", self.clock):
            yield

    def _train(self, run: Run, plan: RunPlan, steps: tuple[int, int]) -> None:
        noise = random.Random(f"{plan.run} {steps[0]}")
        if steps[0] == 0:
            self._first_events(run, plan)
        for step in range(steps[0] + 1, steps[1] + 1):
            self.clock.wait(0.02 + 6e-11 * plan.counts.flops_per_token * plan.batch_tokens)
            self._row(run, plan, step, noise)
            self._after(run, plan, step, noise)

    def _first_events(self, run: Run, plan: RunPlan) -> None:
        run.event("mixture", phases=_phases(self.written, plan, self.domains))
        self._evals(run, plan, 0, random.Random(plan.run))

    def _row(self, run: Run, plan: RunPlan, step: int, noise: random.Random) -> None:
        bad = plan.role == "hero" and step in self.recipe.bad_steps
        loss = self._loss(plan, (step - 1) / plan.num_steps) + noise.gauss(0, 0.11)
        drawn = _drawn(self.written, plan, self.domains, step)
        row: dict[str, float | int] = {
            metrics.TRAIN_LOSS: math.nan if bad else loss,
            metrics.TRAIN_SKIPPED: int(bad),
            metrics.TRAIN_TOKENS: step * plan.batch_tokens,
            **{metrics.data_tokens(d): n for d, n in drawn.items()},
        }
        run.log(row, step=step)
        if bad:
            run.event("skip", step=step, reason="non_finite", loss=math.nan, limit=None)
        if step % 10 == 1:
            run.log(_router(plan, step, noise), step=step)

    def _after(self, run: Run, plan: RunPlan, step: int, noise: random.Random) -> None:
        if step in plan.pulse_steps:
            self._evals(run, plan, step, noise)
        if step in plan.sample_steps:
            for prompt in self.written.samples.prompts:
                run.event(
                    "sample",
                    step=step,
                    prompt=prompt,
                    text=_sample(self._loss(plan, step / plan.num_steps), self.recipe),
                    temperature=0.0,
                )
        if step in plan.checkpoint_steps:
            where = {"path": f"ckpt/{plan.run}/step-{step}", "sha256": "0" * 64, "bytes": 9_400_000}
            run.event("checkpoint", step=step, keep=True, position=step * plan.batch_seqs, updates=step, **where)

    def _evals(self, run: Run, plan: RunPlan, step: int, noise: random.Random) -> None:
        sets = ["pulse"] if step in plan.pulse_steps else []
        sets += ["full"] if step in plan.full_steps else []
        index = plan.pulse_steps.index(step) if step in plan.pulse_steps else -1
        bad = plan.role == "hero" and index in self.recipe.bad_evals
        for name in sets:
            macro = self._loss(plan, step / plan.num_steps) + noise.gauss(0, 0.008)
            offsets = {d: 0.9 * math.sin(1.7 * i) for i, d in enumerate(self.domains)}
            middle = sum(offsets.values()) / len(offsets)
            row = {metrics.eval_loss(name, d): macro + (o - middle) * macro / EVEN_LOSS for d, o in offsets.items()}
            row[metrics.eval_loss(name, "macro")] = sum(row.values()) / len(row)
            run.log({k: math.nan if bad else v for k, v in row.items()}, step=step)
            self._score(run, plan, step, row[metrics.eval_loss(name, "macro")], name)
            self.clock.wait(0.25)

    def _score(self, run: Run, plan: RunPlan, step: int, value: float, name: str) -> None:
        key = metrics.eval_loss(name, "macro")
        if plan.role == "hero" and key in self.document.get("metrics", {}):
            held = score(self.document, key, step / plan.num_steps, value)
            if held is not None:
                run.event("forecast.score", step=step, **held.event_fields("0" * 64))

    def _loss(self, plan: RunPlan, frac: float) -> float:
        smallest = self.plan.runs[0].counts.flops
        end = ASYMPTOTE + SCALE * (plan.counts.flops / smallest) ** -SLOPE
        shift = self.recipe.hero_shift if plan.role == "hero" else 0.002 * plan.seed
        return min(EVEN_LOSS, (ASYMPTOTE + (end - ASYMPTOTE) * ((frac + 0.003) / 1.003) ** -0.17) * (1 + shift))


def _campaign(recipe: Recipe) -> Campaign:
    written = load(recipe.campaign)
    seeds = dict(list(written.ladder.extra_seeds.items())[:1])
    written = replace(written, ladder=replace(written.ladder, extra_seeds=seeds))
    if recipe.hostile is None:
        return written
    first, *others = written.corpus.source
    renamed = replace(first, name=recipe.hostile)
    phases = tuple(
        replace(p, weights={recipe.hostile if n == first.name else n: w for n, w in p.weights.items()})
        for p in written.mixture.phase
    )
    return replace(
        written,
        title=recipe.hostile,
        question=recipe.hostile,
        corpus=replace(written.corpus, source=(renamed, *others)),
        mixture=replace(written.mixture, phase=phases),
        samples=replace(written.samples, prompts=(recipe.hostile, *written.samples.prompts)),
    )


def _books(stage: str) -> dict[str, Any]:
    """A data stage's report, as far as the page reads it."""
    removed = {"near_duplicates": 41, "exact_duplicates": 17}.get(stage, 0)
    books = {"came": {"documents": 900, "bytes": 9_000_000}, "left": {"documents": 900 - removed, "bytes": 8_900_000}}
    domains = {"code": {**books, "removed": {stage: {"documents": removed, "bytes": 100_000}}}}
    totals = {"documents_in": 900, "documents_out": 900 - removed, "bytes_in": 9_000_000, "bytes_out": 8_900_000}
    return {"domains": domains, "alarms": [], **totals}


def _corpus(domains: list[str]) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "licence": "CC-BY-SA-4.0" if i < 3 else "public domain",
            "origin": f"pypi:made-{i}==1.0",
            "documents": 300 + 41 * i,
            "bytes": 1_150_000 - 31_000 * i,
            "tokens": 430_000 - 9_000 * i,
            "sequences": 3300 - 70 * i,
            "bytes_per_token": 2.67 - 0.03 * i,
            "text_sha256": sha256_hex(name),
        }
        for i, name in enumerate(domains)
    ]
    return {"fingerprint": sha256_hex(canonical_json(rows)), "tokenizer_sha256": "1" * 64, "domains": rows, "evals": []}


def _phases(campaign: Campaign, plan: RunPlan, domains: list[str]) -> list[dict[str, Any]]:
    total, first, phases = plan.num_steps * plan.batch_seqs, 0, []
    for phase in campaign.mixture.phase:
        end = int(phase.until * total)
        weights = {d: phase.weights.get(d, 0.0) for d in domains}
        seqs = {d: round(w * (end - first)) for d, w in weights.items()}
        epochs = {d: n / 3300 for d, n in seqs.items()}
        phases.append(
            {"first_seq": first, "last_seq": end - 1, "weights": weights, "sequences": seqs, "epochs": epochs}
        )
        first = end
    return phases


def _drawn(campaign: Campaign, plan: RunPlan, domains: list[str], steps: int) -> dict[str, int]:
    drawn, first = dict.fromkeys(domains, 0.0), 0.0
    for phase in campaign.mixture.phase:
        inside = max(0.0, min(steps / plan.num_steps, phase.until) - first) * plan.tokens
        for domain, weight in phase.weights.items():
            drawn[domain] += weight * inside
        first = phase.until
    return {d: round(n) for d, n in drawn.items()}


def _router(plan: RunPlan, step: int, noise: random.Random) -> dict[str, float]:
    row: dict[str, float] = {}
    settled = 1 - 0.85 * min(1.0, step / (0.3 * plan.num_steps))
    for layer in range(plan.model.num_layers):
        loads = [
            max(0.0, 1 + settled * math.sin(2.1 * e + layer) + noise.gauss(0, 0.08))
            for e in range(plan.model.num_experts)
        ]
        total = sum(loads)
        for expert, load_frac in enumerate(loads):
            row[metrics.router_load(layer, expert)] = load_frac * plan.model.num_experts / total
            row[metrics.router_bias(layer, expert)] = -0.5 * (1 - settled) * math.sin(2.1 * expert + layer)
        shares = [x / total for x in loads if x > 0]
        row[metrics.router_entropy(layer)] = -sum(s * math.log(s) for s in shares)
        row[metrics.router_dropped(layer)] = 0.01 * settled
    return row


def _sample(loss: float, recipe: Recipe) -> str:
    text = next(words for upto, words in WORDS.items() if loss <= upto)
    return text + (recipe.hostile or "")
