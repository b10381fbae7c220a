"""A campaign from end to end: corpus, rungs, sealed forecast, hero, verdict; this file wires and decides nothing.

Guarantees: what a former call finished is found and not done again; every stage's start and end stands in the
record of the run `campaign`; the hero's record holds the forecast before its first row. A stop (Ctrl-C,
SIGTERM) ends after the current step with a checkpoint. One call at a time works on a campaign's folder.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fanal.campaign.derived import CampaignPlan, RunPlan
from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.campaign.plan import plan_campaign
from fanal.campaign.spec import Campaign, MetricNote
from fanal.data.batches import BatchSource
from fanal.data.build import build_corpus
from fanal.data.corpus import Corpus
from fanal.data.fetch import default_cache
from fanal.data.heldout import load_eval_sets
from fanal.data.order import make_order, mixture_event_fields
from fanal.data.report import StageReport
from fanal.data.tokens import Tokenizer
from fanal.errors import CampaignError, RecordError, RefusedError
from fanal.ladder.forecast import ForecastOptions, forecast
from fanal.ladder.rungs import HeroPlan, read_rungs
from fanal.ladder.score import score, summarise
from fanal.ladder.seal import Sealed, seal, sealed_forecast
from fanal.page.report import write_report
from fanal.record import layout
from fanal.record.attempt import Run, Start, start
from fanal.record.copies import publishing
from fanal.record.files import write_whole
from fanal.record.metrics import DESCRIBED, Described
from fanal.record.proof.verify import verify
from fanal.record.reading.read import RunView, open_record
from fanal.record.stages import Stage, alone, ended, stage_seconds
from fanal.record.withhold import BY_DEFAULT, Withhold
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
    if campaign.trainer.kind != "fanal":
        raise RefusedError(
            "trainer.kind 'external' can be read and not yet run: this version trains with 'fanal' alone"
        )
    plan = plan_campaign(campaign)
    hold_destination(campaign)
    with alone(options.folder), stop_on_signals() as stop:
        hold_fingerprint(options, plan)
        if (former := concluded(options)) is not None:
            return former
        with compiling() as compiler, ended(begin_campaign(campaign, plan, options)) as run:
            session = Session(campaign, plan, options, run, stop)
            compiler.ahead(plan.runs[0])
            result = train_all(session, corpus_of(session), compiler)
            if result is None:
                run.finish("interrupted", stop.reason)
                return None
            return conclude(session, result)


def hold_destination(campaign: Campaign) -> None:
    """Hold that the campaign can be published where it says.

    Raises:
        CampaignError: `publish.to` is no folder and no address of an object store.
    """
    if campaign.publish.to is not None:
        try:
            publishing.check_dest(campaign.publish.to)
        except ValueError as error:
            raise CampaignError(f"publish.to: {error}") from error


def hold_fingerprint(options: RunOptions, plan: CampaignPlan) -> None:
    """Begin the record under the campaign's fingerprint, or hold that it was begun under this one.

    Raises:
        RefusedError: the folder holds another campaign, or the same with other numbers.
    """
    found = layout.open_record(options.record, plan.fingerprint)["campaign"]
    if found != plan.fingerprint:
        raise RefusedError(
            f"{options.folder} was begun under fingerprint {str(found)[:12]}, and this campaign has "
            f"{plan.fingerprint[:12]}: it was changed since. Run it with another --dir, or move {options.folder} away"
        )


def begin_campaign(campaign: Campaign, plan: CampaignPlan, options: RunOptions) -> Run:
    """The run that stages are written to."""
    how = Start(project=campaign.name, id="campaign", name=campaign.title, role="campaign", withhold=withheld(campaign))
    run = start(options.record, how)
    run.event("plan", fingerprint=plan.fingerprint, resolved=json.loads(plan.resolved))
    for known in DESCRIBED:
        run.event("metric", **metric_fields(known.pattern, known), source=known.source)
    for note in campaign.metrics:
        run.event("metric", **metric_fields(note.key, note), source=f"[metrics] of campaign {campaign.name}")
    if campaign.publish.to is not None:
        publishing.start(options.record, campaign.publish.to)  # a process of its own: it ends when all is published
    return run


def metric_fields(pattern: str, about: Described | MetricNote) -> dict[str, Any]:
    """What a description says of the keys of `pattern`."""
    return {"pattern": pattern, "text": about.text, "unit": about.unit or None, "better": about.better or None}


# ------------------------------------------------------------------------------------- the stages


def corpus_of(session: Session) -> Corpus:
    """Documents to shards, each stage in the record.

    Raises:
        KeyboardInterrupt: it was told to stop; the stages that ended are kept.
    """
    begun: dict[str, Stage] = {}

    def on_stage(name: str, report: StageReport | None) -> None:
        if report is not None:
            begun.pop(name).end(report.to_json())
        if session.stop:
            raise KeyboardInterrupt
        if report is None:
            begun[name] = Stage.begin(session.run, name)

    data = session.options.folder / "data"
    corpus = build_corpus(session.campaign, cache=default_cache(), out=data, on_stage=on_stage)
    make_order(session.campaign, session.plan.hero, corpus)  # a domain read too often is refused before any training
    session.run.event("corpus", **corpus.event_fields())
    return corpus


def train_all(session: Session, corpus: Corpus, compiler: Compiler) -> TrainResult | None:
    """Train the rungs, then the hero; the hero's result, or None where it was stopped."""
    following = (*session.plan.runs[1:], session.plan.hero)
    result = None
    for run, next_run in zip(session.plan.runs, following, strict=True):
        if session.stop:
            return None
        result = finished(run, session.options.checkpoints(run), data_fingerprint(session, corpus))
        if result is None:
            compiler.ahead(run)
            compiler.ahead(next_run)
            result = train_run(session, run, corpus, compiler)
        else:
            hold_ended(session, run)
        if result.interrupted:
            return None
    return result


def train_run(session: Session, run: RunPlan, corpus: Corpus, compiler: Compiler) -> TrainResult:
    """One attempt at one run; the hero's begins with its forecast, where none is sealed yet."""
    with ended(begin_attempt(session, run)) as record:
        sealed = seal_forecast(session, run, record) if run.role == "hero" else None
        stage = Stage.begin(session.run, f"train/{run.run}")
        order = make_order(session.campaign, run, corpus)
        record.event("mixture", **mixture_event_fields(order))
        samples = session.campaign.samples
        inputs = TrainInputs(
            batches=BatchSource(corpus, order),
            eval_sets=load_eval_sets(corpus),
            record=record,
            checkpoints=session.options.checkpoints(run),
            data_fingerprint=data_fingerprint(session, corpus),
            compiler=compiler,
            stop=session.stop,
            samples=Samples(Tokenizer(corpus.tokenizer_path), samples.prompts, samples.tokens),
            settings=session.loop_settings,
            foretold=partial(scores_of, sealed, run) if sealed else None,
        )
        result = train(run, inputs)
        stage.end({"outcome": result.outcome, "steps": result.step, "seconds": dict(result.seconds)})
        return result


def data_fingerprint(session: Session, corpus: Corpus) -> str:
    """SHA-256 of all that decides which tokens a run reads, its seed and length apart."""
    return sha256_hex(canonical_json({"corpus": corpus.fingerprint, "mixture": session.campaign.mixture}))


def begin_attempt(session: Session, run: RunPlan) -> Run:
    """Open the run in the record, from the step after its latest checkpoint."""
    step = resume_point(session.options.checkpoints(run))
    if step is not None:
        hold_recorded(session, run)
    config = asdict(run)
    how = Start(
        project=session.campaign.name,
        id=run.run,
        config=config,
        role=run.role,
        from_step=step,
        withhold=withheld(session.campaign),
    )
    return start(session.options.record, how)


def withheld(campaign: Campaign) -> tuple[Withhold, ...]:
    """What the campaign keeps from what is published, beside what everybody does."""
    return (
        *BY_DEFAULT,
        *(Withhold(pattern, "[publish] withhold of the campaign") for pattern in campaign.publish.withhold),
    )


def hold_recorded(session: Session, run: RunPlan) -> RunView:
    """The run whose checkpoints are there, in the record.

    Raises:
        RefusedError: the record does not know it.
    """
    runs = open_record(session.options.record).runs
    if run.run not in runs:
        raise RefusedError(
            f"{session.options.checkpoints(run)} belongs to no run of {session.options.record}: record and checkpoints "
            f"of one campaign stay together. Move {session.options.folder / 'ckpt'} away too, or bring its record back"
        )
    return runs[run.run]


def hold_ended(session: Session, run: RunPlan) -> None:
    """End a run in the record that was killed between its last checkpoint and its end."""
    if hold_recorded(session, run).attempts[-1].outcome != "finished":
        begin_attempt(session, run).finish("finished")


def seal_forecast(session: Session, hero: RunPlan, record: Run) -> Sealed:
    """The forecast in the hero's record; made and sealed now where there is none."""
    view = open_record(session.options.record)
    sealed = sealed_forecast(view.runs[hero.run])
    if sealed is not None:
        return sealed
    stage = Stage.begin(session.run, "forecast")
    target = HeroPlan.of(hero)
    spec = session.campaign.forecast
    document = forecast(read_rungs(view, target, spec.metrics), target, ForecastOptions.of(spec))
    sha256 = seal(record, document)
    stage.end({"sha256": sha256})
    return Sealed(sha256, document)


def scores_of(sealed: Sealed, run: RunPlan, step: int, measured: Mapping[str, float]) -> list[dict[str, Any]]:
    """The fields of a `forecast.score` event for each foretold metric that was measured at `step`."""
    document = sealed.document
    foretold = [metric for metric in document["metrics"] if metric in measured and math.isfinite(measured[metric])]
    found = (score(document, metric, step / run.num_steps, measured[metric]) for metric in foretold)
    return [one.event_fields(sealed.sha256) for one in found if one is not None]


# ------------------------------------------------------------------------------------- the end


def conclude(session: Session, hero: TrainResult) -> Outcome:
    """The verdict into the record, then `summary.json`, the report and the card.

    Raises:
        RecordError: the record is not whole, and a verdict needs it whole.
    """
    stage = Stage.begin(session.run, "report")
    record = open_record(session.options.record)
    sealed = sealed_forecast(record.runs[hero.run])
    assert sealed is not None, "the hero began with a forecast"
    checked = verify(session.options.record)
    if checked.bad:
        raise RecordError(f"{checked.bad[0].file}: {checked.bad[0].what}; a verdict needs a whole record")
    first = any(f.sha256 == sealed.sha256 and f.sealed_before_step_0 for f in checked.forecasts)
    measured = hero.scores[sealed.document["headline"]]
    summary = summarise(sealed.document, measured, sealed_before_step_0=first, seconds=stage_seconds(record))
    session.run.event("verdict", summary=summary)
    stage.end({})
    session.run.finish()
    return write_outcome(session.options, summary)


def concluded(options: RunOptions) -> Outcome | None:
    """The outcome of a campaign whose verdict stands in the record, written anew; None where there is none."""
    record = open_record(options.record)
    verdicts = record.campaign.events("verdict") if record.campaign else []
    return write_outcome(options, verdicts[-1].fields["summary"]) if verdicts else None


def write_outcome(options: RunOptions, summary: Mapping[str, Any]) -> Outcome:
    """`summary.json`, `report.md`, the pictures and the card."""
    write_whole(options.folder / "summary.json", (json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
    return Outcome(summary, write_report(options.folder).text)


# ------------------------------------------------------------------------------------- the sweep


def tune_campaign(campaign: Campaign, options: RunOptions) -> SweepReport:
    """Sweep the rates on the two smallest rungs, unrecorded, and fit the laws through the best of each.

    Raises:
        KeyboardInterrupt: it was told to stop; no training of it is kept.
    """
    plan = plan_campaign(campaign)
    smallest = [run for run in plan.rungs if run.seed == campaign.ladder.seed][:2]
    with alone(options.folder), stop_on_signals() as stop, compiling() as compiler:

        def on_stage(name: str, report: StageReport | None) -> None:
            if stop:
                raise KeyboardInterrupt

        data = options.folder / "data"
        corpus = build_corpus(campaign, cache=default_cache(), out=data, on_stage=on_stage)

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
