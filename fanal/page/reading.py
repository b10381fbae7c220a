"""What the model reads and what each kind of text gives: corpus, mixture planned and consumed, loss by domain.

Planned shares come from the run's `mixture` event, consumed tokens from its `data/tokens/…` series at
each phase's end, the corpus from its own event. A share that was not logged is null, never a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fanal.page.hero import Ghost, run_points, smaller_runs, y_scale
from fanal.page.plan_view import CampaignView
from fanal.page.progress import Progress, StageRow, subject
from fanal.page.runs import Phase
from fanal.page.seen import SeenRecord, SeenRun
from fanal.page.series import Points
from fanal.page.words import plain
from fanal.record.metrics import data_tokens, eval_loss

Json = Any
DATA = "data/"


@dataclass(frozen=True)
class CorpusRow:
    """One domain of the corpus."""

    name: str
    """The domain."""
    licence: str
    """Licence of its text."""
    origin: str
    """Where it comes from."""
    documents: int
    """Documents that are trained on."""
    bytes: int
    """UTF-8 of them."""
    tokens: int
    """Tokens of them."""
    bytes_per_token: float
    """How much text a token holds."""


@dataclass(frozen=True)
class DataStage:
    """What one stage of the corpus kept and removed."""

    stage: str
    """Its name, without `data/`."""
    phase: Phase
    """Running, finished or interrupted."""
    seconds: float | None
    """Wall time, once it ended."""
    documents_in: int | None
    """Documents that came; null where its report counts none."""
    documents_out: int | None
    """Documents that were passed on."""
    bytes_in: int | None
    """Their UTF-8."""
    bytes_out: int | None
    """Of those passed on."""
    removed: dict[str, int]
    """Documents taken out, by cause."""
    alarms: list[str]
    """What a person should look at."""


@dataclass(frozen=True)
class PhaseShare:
    """One domain in one phase of the mixture."""

    planned_frac: float
    """Share of the phase's tokens."""
    planned_tokens: int | None
    """Tokens of the phase; null where the sequence length is unknown."""
    consumed_tokens: int | None
    """Drawn so far in this phase; null where it was not logged."""


@dataclass(frozen=True)
class MixtureRow:
    """One domain over all phases."""

    domain: str
    """The domain."""
    phases: list[PhaseShare]
    """One entry a phase."""
    epochs: float | None
    """How often the whole run reads it; null where the plan does not say."""


@dataclass(frozen=True)
class MixturePhase:
    """One phase of the mixture."""

    label: str
    """`Data phase 1`, …"""
    first: float
    """Share of the run at which it begins."""
    last: float
    """Share at which it ends."""
    phase: Phase
    """Planned, running or finished."""


@dataclass(frozen=True)
class MixtureChart:
    """In which proportions one run draws the domains."""

    run: str
    """Which run."""
    phases: list[MixturePhase]
    """In order."""
    rows: list[MixtureRow]
    """Domains, most planned tokens first."""


@dataclass(frozen=True)
class DomainPanel:
    """Loss of one domain: the subject of the page against the smaller runs."""

    domain: str
    """The domain."""
    points: Points | None
    """The subject's; null before its first eval."""
    ghosts: list[Ghost]
    """The smaller runs', smallest first."""


@dataclass(frozen=True)
class DomainsChart:
    """Small multiples on one scale."""

    run: str
    """The run in front."""
    eval_set: str
    """`pulse`."""
    unit: str
    """Of the values."""
    low: float
    """Least value of the shared y axis."""
    high: float
    """Most; what lies above leaves at the top."""
    panels: list[DomainPanel]
    """One a domain, in the corpus' order."""


def corpus_rows(record: SeenRecord) -> list[CorpusRow]:
    """The corpus as its event tells, or nothing."""
    events = record.campaign_events("corpus")
    return [_corpus_row(domain) for domain in events[-1].fields["domains"]] if events else []


def data_stages(record: SeenRecord, progress: Progress) -> list[DataStage]:
    """The stages of the corpus in order, with the books of those that ended."""
    reports = {e.fields["stage"]: e.fields["report"] for e in record.campaign_events("stage.end")}
    rows = [row for row in progress.stages if row.stage.startswith(DATA)]
    return [_data_stage(row, reports.get(row.stage, {})) for row in rows]


def _data_stage(row: StageRow, report: Mapping[str, Json]) -> DataStage:
    removed: dict[str, int] = {}
    for books in report.get("domains", {}).values():
        for cause, taken in books.get("removed", {}).items():
            removed[plain(cause)] = removed.get(plain(cause), 0) + int(taken["documents"])
    return DataStage(
        stage=row.stage.removeprefix(DATA),
        phase=row.phase,
        seconds=row.seconds,
        documents_in=report.get("documents_in"),
        documents_out=report.get("documents_out"),
        bytes_in=report.get("bytes_in"),
        bytes_out=report.get("bytes_out"),
        removed={cause: count for cause, count in removed.items() if count},
        alarms=[plain(text) for text in report.get("alarms", ())],
    )


def _corpus_row(domain: Mapping[str, Json]) -> CorpusRow:
    return CorpusRow(
        name=plain(domain["name"]),
        licence=plain(domain["licence"]),
        origin=plain(domain["origin"]),
        documents=int(domain["documents"]),
        bytes=int(domain["bytes"]),
        tokens=int(domain["tokens"]),
        bytes_per_token=float(domain["bytes_per_token"]),
    )


def mixture_chart(record: SeenRecord, view: CampaignView, progress: Progress) -> MixtureChart | None:
    """The mixture of the run the page is about, or None where none is published."""
    row = subject(progress)
    run = record.runs.get(row.run) if row else None
    events = run.events("mixture") if run else []
    if row is None or run is None or not events:
        return None
    planned: Sequence[Mapping[str, Json]] = events[-1].fields["phases"]
    num_seqs = max(1, int(planned[-1]["last_seq"]) + 1)
    seq_tokens = row.tokens / num_seqs if row.tokens else None
    edges = [0.0, *((int(p["last_seq"]) + 1) / num_seqs for p in planned)]
    done = row.frac or 0.0
    phases = [
        MixturePhase(
            f"Data phase {i + 1}", a, b, Phase.FINISHED if done >= b else Phase.RUNNING if done > a else Phase.PLANNED
        )
        for i, (a, b) in enumerate(pairwise(edges))
    ]
    domains = list(dict.fromkeys(name for p in planned for name in p["weights"]))
    rows = [_mixture_row(run, domain, planned, phases, (row.num_steps or 1, seq_tokens)) for domain in domains]
    rows.sort(key=lambda r: -sum(s.planned_frac * (p.last - p.first) for s, p in zip(r.phases, phases, strict=True)))
    return MixtureChart(row.run, phases, rows)


def _mixture_row(
    run: SeenRun,
    domain: str,
    planned: Sequence[Mapping[str, Json]],
    phases: list[MixturePhase],
    sizes: tuple[int, float | None],
) -> MixtureRow:
    num_steps, seq_tokens = sizes
    ends = [_drawn_at(run, domain, p.last * num_steps) if p.phase is not Phase.PLANNED else None for p in phases]
    starts = [0, *ends]
    shares: list[PhaseShare] = []
    for written, begin, end in zip(planned, starts, ends, strict=False):
        seqs = written.get("sequences", {}).get(domain)
        tokens = round(seqs * seq_tokens) if seqs is not None and seq_tokens else None
        consumed = end - begin if end is not None and begin is not None else None
        shares.append(PhaseShare(float(written["weights"].get(domain, 0.0)), tokens, consumed))
    epochs = [p["epochs"][domain] for p in planned if domain in p.get("epochs", {})]
    return MixtureRow(plain(domain), shares, float(sum(epochs)) if epochs else None)


def _drawn_at(run: SeenRun, domain: str, steps: float) -> int | None:
    """Tokens drawn from `domain` in the first `steps` updates: the newest row inside them."""
    series = run.series(data_tokens(domain))
    if series is None:
        return None
    inside = series.values[(series.steps <= round(steps)) & np.isfinite(series.values)]
    return int(inside.max()) if inside.size else 0


def domains_chart(
    record: SeenRecord, progress: Progress, domains: Sequence[str], eval_set: str = "pulse"
) -> DomainsChart | None:
    """Loss by domain of the run the page is about and of the smaller ones, or None where none was scored."""
    row = subject(progress)
    if row is None or row.run not in record.runs:
        return None
    run = record.runs[row.run]
    panels: list[DomainPanel] = []
    for domain in domains:
        key = eval_loss(eval_set, domain)
        own = run_points(run, key, row.num_steps or max(1, row.step))
        panels.append(DomainPanel(plain(domain), own, smaller_runs(record, progress, row, key)))
    front, behind = [p.points for p in panels if p.points], [g.points for p in panels for g in p.ghosts]
    if not front and not behind:
        return None
    low, high = y_scale(front, behind, [])
    return DomainsChart(row.run, eval_set, "nats per token", low, high, panels)


def domain_names(record: SeenRecord, view: CampaignView) -> list[str]:
    """The domains in their order: of the corpus, else of the campaign, else of the evals that were logged."""
    events = record.campaign_events("corpus")
    if events:
        return [str(d["name"]) for d in events[-1].fields["domains"]]
    written = [str(s["name"]) for s in view.part("corpus", "source") or ()]
    prefix = eval_loss("pulse", "")
    logged = (k.removeprefix(prefix) for run in record.runs.values() for k in run.keys if k.startswith(prefix))
    return written or [name for name in dict.fromkeys(logged) if name != "macro"]
