"""A campaign from end to end: corpus, rungs, sealed forecast, hero, verdict; this file wires and decides nothing.

Guarantees: what a former call finished is found and not done again; every stage's start and end stands in the
record of the run `campaign`; the hero's record holds the forecast before its first row. A stop (Ctrl-C,
SIGTERM) ends after the current step with a checkpoint. One call at a time works on a campaign's folder.
"""

import fcntl
import json
import math
import resource
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fanal.campaign.derived import CampaignPlan, RunPlan
from fanal.campaign.plan import plan_campaign
from fanal.campaign.spec import Campaign
from fanal.data.batches import BatchSource
from fanal.data.build import build_corpus
from fanal.data.corpus import Corpus
from fanal.data.fetch import default_cache
from fanal.data.heldout import load_eval_sets
from fanal.data.order import make_order, mixture_event_fields
from fanal.data.report import StageReport
from fanal.data.tokens import Tokenizer
from fanal.errors import FanalError, RefusedError
from fanal.ladder.forecast import ForecastOptions, forecast
from fanal.ladder.rungs import HeroPlan, read_rungs
from fanal.ladder.score import score, summarise
from fanal.ladder.seal import document_sha256, seal, sealed_forecast
from fanal.page.report import write_report
from fanal.record import layout
from fanal.record.files import write_whole
from fanal.record.metrics import FULL_MACRO
from fanal.record.read import Record, open_record
from fanal.record.tracker import Run, Start, start
from fanal.record.verify import verify
from fanal.train.compile import Compiler, compiling
from fanal.train.inputs import LoopSettings, Samples, TrainInputs, TrainResult
from fanal.train.journal import Unrecorded
from fanal.train.loop import finished, resume_point, train
from fanal.train.stop import StopFlag, stop_on_signals
from fanal.train.sweep import SweepReport, sweep


@dataclass(frozen=True)
class RunOptions:
    """Where a campaign lives and how it is run."""

    folder: Path
    """`runs/<campaign>`: `record/`, `ckpt/`, `data/`, `summary.json`, `report.md`."""
    quiet: bool = False

    @property
    def record(self) -> Path:
        return self.folder / "record"

    def checkpoints(self, run: RunPlan) -> Path:
        """Where the run's states are kept."""
        return self.folder / "ckpt" / run.run


@dataclass(frozen=True)
class Outcome:
    """What a campaign ended with."""

    summary: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Session:
    """One call of `run_campaign`: the campaign, its plan, and the run that its stages are written to."""

    campaign: Campaign
    plan: CampaignPlan
    options: RunOptions
    run: Run
    stop: StopFlag

    @property
    def loop_settings(self) -> LoopSettings:
        """How densely its trainings write and save."""
        campaign = self.campaign
        return LoopSettings(campaign.log.norms_every_steps, campaign.checkpoints.temporary_seconds, self.options.quiet)


def run_campaign(campaign: Campaign, options: RunOptions) -> Outcome | None:
    """Do all that the campaign names; None where it was stopped on the way.

    Raises:
        CampaignError, DataError, RecordError, CheckpointError: what cannot be done, in words for a person.
        RefusedError: the folder belongs to another campaign, or another call is at work in it.
    """
    plan = plan_campaign(campaign)
    with one_at_a_time(options.folder), stop_on_signals() as stop, compiling() as compiler:
        hold_fingerprint(options, plan)
        with campaign_run(campaign, plan, options) as run:
            session = Session(campaign, plan, options, run, stop)
            compiler.ahead(plan.runs[0])
            corpus = corpus_of(session)
            hero_loss = train_all(session, corpus, compiler)
            if hero_loss is None:
                run.finish("interrupted", stop.reason)
                return None
            return conclude(session, hero_loss)


# ------------------------------------------------------------------------------------- the stages


def corpus_of(session: Session) -> Corpus:
    """Documents to shards, each stage in the record."""
    begun: dict[str, Stage] = {}

    def on_stage(name: str, report: StageReport | None) -> None:
        if session.stop:
            raise KeyboardInterrupt
        if report is None:
            begun[name] = Stage.begin(session.run, name)
        else:
            begun.pop(name).end(report.to_json())

    data = session.options.folder / "data"
    corpus = build_corpus(session.campaign, cache=default_cache(), out=data, on_stage=on_stage)
    make_order(session.campaign, session.plan.hero, corpus)  # a domain read too often is refused before any training
    session.run.event("corpus", **corpus.event_fields())
    return corpus


def train_all(session: Session, corpus: Corpus, compiler: Compiler) -> float | None:
    """Train the rungs, then the hero; its loss on *full*, or None where it was stopped."""
    following = (*session.plan.runs[1:], session.plan.hero)
    loss = None
    for run, next_run in zip(session.plan.runs, following, strict=True):
        result = finished(run, session.options.checkpoints(run), corpus.fingerprint)
        if result is None:
            compiler.ahead(run)
            compiler.ahead(next_run)
            result = train_run(session, run, corpus, compiler)
        if result.interrupted:
            return None
        loss = result.scores[FULL_MACRO]
    return loss


def train_run(session: Session, run: RunPlan, corpus: Corpus, compiler: Compiler) -> TrainResult:
    """One attempt at one run; the hero's begins with its forecast, where none is sealed yet."""
    stage = Stage.begin(session.run, f"train/{run.run}")
    record = begin_attempt(session, run)
    document = seal_forecast(session, run, record) if run.role == "hero" else None
    order = make_order(session.campaign, run, corpus)
    record.event("mixture", **mixture_event_fields(order))
    samples = session.campaign.samples
    inputs = TrainInputs(
        batches=BatchSource(corpus, order),
        eval_sets=load_eval_sets(corpus),
        record=record,
        checkpoints=session.options.checkpoints(run),
        data_fingerprint=corpus.fingerprint,
        compiler=compiler,
        stop=session.stop,
        samples=Samples(Tokenizer(corpus.tokenizer_path), samples.prompts, samples.tokens),
        settings=session.loop_settings,
        foretold=partial(scores_of, document, run) if document else None,
    )
    result = train(run, inputs)
    stage.end({"outcome": result.outcome, "steps": result.step, "seconds": dict(result.seconds)})
    return result


def begin_attempt(session: Session, run: RunPlan) -> Run:
    """Open the run in the record, from the step after its latest checkpoint."""
    step = resume_point(session.options.checkpoints(run))
    config = asdict(run)
    how = Start(project=session.campaign.name, id=run.run, config=config, role=run.role, from_step=step)
    return start(session.options.record, how)


def seal_forecast(session: Session, hero: RunPlan, record: Run) -> Mapping[str, Any]:
    """The forecast in the hero's record; made and sealed now where there is none."""
    view = open_record(session.options.record)
    sealed = sealed_forecast(view.runs[hero.run])
    if sealed is not None:
        return sealed.document
    stage = Stage.begin(session.run, "forecast")
    target = HeroPlan.of(hero)
    spec = session.campaign.forecast
    document = forecast(read_rungs(view, target, spec.metrics), target, ForecastOptions.of(spec))
    sha256 = seal(record, document)
    stage.end({"sha256": sha256})
    return document


def scores_of(
    document: Mapping[str, Any], run: RunPlan, step: int, measured: Mapping[str, float]
) -> list[dict[str, Any]]:
    """The fields of a `forecast.score` event for each foretold metric that was measured at `step`."""
    foretold = [metric for metric in document["metrics"] if metric in measured and math.isfinite(measured[metric])]
    found = (score(document, metric, step / run.num_steps, measured[metric]) for metric in foretold)
    return [one.event_fields(document_sha256(document)) for one in found if one is not None]


def conclude(session: Session, hero_loss: float) -> Outcome:
    """The verdict: into the record, `summary.json`, the report and the card."""
    options = session.options
    stage = Stage.begin(session.run, "report")
    view = open_record(options.record)
    hero = view.runs[session.plan.hero.run]
    sealed = sealed_forecast(hero)
    assert sealed is not None, "the hero began with a forecast"
    checks = verify(options.record).forecasts
    first = any(check.sha256 == sealed.sha256 and check.sealed_before_step_0 for check in checks)
    summary = summarise(sealed.document, hero_loss, sealed_before_step_0=first, seconds=stage_seconds(view))
    session.run.event("verdict", summary=summary)
    write_whole(options.folder / "summary.json", (json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
    stage.end({})
    session.run.finish()
    return Outcome(summary, write_report(options.folder).text)


def tune_campaign(campaign: Campaign, options: RunOptions) -> SweepReport:
    """Sweep the rates on the two smallest rungs, unrecorded, and fit the laws through the best of each.

    Raises:
        KeyboardInterrupt: it was told to stop; nothing is kept.
    """
    plan = plan_campaign(campaign)
    smallest = [run for run in plan.rungs if run.seed == campaign.ladder.seed][:2]
    with one_at_a_time(options.folder), stop_on_signals() as stop, compiling() as compiler:
        data = options.folder / "data"
        corpus = build_corpus(campaign, cache=default_cache(), out=data, on_stage=lambda name, report: None)

        def inputs_of(run: RunPlan) -> TrainInputs:
            return TrainInputs(
                batches=BatchSource(corpus, make_order(campaign, run, corpus)),
                eval_sets=load_eval_sets(corpus),
                record=Unrecorded(),
                checkpoints=None,
                data_fingerprint=corpus.fingerprint,
                compiler=compiler,
                stop=stop,
                settings=LoopSettings(quiet=options.quiet),
            )

        return sweep(smallest, inputs_of)


# ------------------------------------------------------------------------------------- the campaign's own run


@contextmanager
def one_at_a_time(folder: Path) -> Generator[None]:
    """Hold the campaign's folder for this process; the kernel lets go of it however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            words = f"{folder} is at work in another process: wait for it, or watch it with `fanal serve {folder}`"
            raise RefusedError(words) from error
        yield


def hold_fingerprint(options: RunOptions, plan: CampaignPlan) -> None:
    """Begin the record under the campaign's fingerprint, or hold that it was begun under this one.

    Raises:
        RefusedError: the folder holds another campaign, or the same with other numbers.
    """
    found = layout.open_record(options.record, plan.fingerprint)["campaign"]
    if found != plan.fingerprint:
        raise RefusedError(
            f"{options.record} was begun under fingerprint {str(found)[:12]}, and this campaign has "
            f"{plan.fingerprint[:12]}: it was changed since. Run it with another --dir, or move the folder away"
        )


@contextmanager
def campaign_run(campaign: Campaign, plan: CampaignPlan, options: RunOptions) -> Generator[Run]:
    """The run that stages are written to; ended as what it was."""
    run = start(options.record, Start(project=campaign.name, id="campaign", name=campaign.title, role="campaign"))
    run.event("plan", fingerprint=plan.fingerprint, resolved=json.loads(plan.resolved))
    try:
        yield run
    except KeyboardInterrupt:
        run.finish("interrupted", "stopped by a person")
        raise
    except FanalError as error:
        run.finish("failed", str(error))
        raise
    finally:
        run.finish("failed", "an error of Fanal's own")


@dataclass(frozen=True)
class Stage:
    """A stretch of work, from `stage.start` to `stage.end`."""

    run: Run
    name: str
    began: float
    began_cpu: float

    @classmethod
    def begin(cls, run: Run, name: str) -> "Stage":
        """Write the stage's start."""
        run.event("stage.start", stage=name)
        return cls(run, name, time.monotonic(), cpu_seconds())

    def end(self, report: Mapping[str, Any]) -> None:
        """Write the stage's end, with what it took."""
        seconds, cpu = time.monotonic() - self.began, cpu_seconds() - self.began_cpu
        self.run.event("stage.end", stage=self.name, seconds=seconds, cpu_seconds=cpu, report=dict(report))


def cpu_seconds() -> float:
    """Processor time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def stage_seconds(record: Record) -> dict[str, float]:
    """Wall time by stage, all attempts together."""
    assert record.campaign is not None, "a campaign's record has its run"
    seconds: dict[str, float] = {}
    for event in record.campaign.events("stage.end"):
        name = event.fields["stage"]
        seconds[name] = seconds.get(name, 0.0) + event.fields["seconds"]
    return seconds
