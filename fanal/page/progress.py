"""How far a campaign is: its stages, its rail from data to hero, and when it should end.

Read from stage and attempt events and from the runs' own rows. An estimate is made only from what this
record measured: a run's pace, or the cost of the sizes before it carried on. Without two measured sizes the
end of the campaign is unknown and is said to be.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fanal.page.plan_view import CampaignView
from fanal.page.runs import Phase, RunRow, run_rows
from fanal.page.seen import SeenRecord
from fanal.page.words import plain
from fanal.record.events import Event

WALL_TIME, EQUAL_PARTS = "wall time", "equal parts"


@dataclass(frozen=True)
class StageRow:
    """One stage of the pipeline, as its events tell."""

    stage: str
    """Its name in the record, e.g. `data/near_duplicates`."""
    phase: Phase
    """`running`, `finished`, or `interrupted` where its attempt ended inside it."""
    started_ns: int
    """When it began, ns since 1970, UTC."""
    seconds: float | None
    """Wall time, once it ended."""
    cpu_seconds: float | None
    """Processor time, once it ended."""


@dataclass(frozen=True)
class RailPart:
    """A stretch of the campaign: the data, one size of the ladder with all its seeds, or the hero."""

    label: str
    """`data`, a rung's name, or `hero`."""
    phase: Phase
    """Where it stands."""
    first: float
    """Where it begins on the rail, 0 to 1."""
    last: float
    """Where it ends."""
    done: float
    """Share of it that is done."""
    seconds: float | None
    """Wall time, measured or estimated; null where neither is known."""


@dataclass(frozen=True)
class Progress:
    """Everything about how far the campaign is."""

    phase: Phase
    """Of the whole campaign."""
    reason: str | None
    """Why it ended, where the record says."""
    stages: list[StageRow]
    """In order of start; of a stage that ran in several attempts the newest."""
    runs: list[RunRow]
    """Planned and begun trainings in order of training."""
    rail: list[RailPart]
    """The campaign from left to right."""
    rail_scale: str
    """`wall time`, or `equal parts` where the times to come cannot be estimated."""
    started_ns: int | None
    """First event, ns since 1970, UTC."""
    last_ns: int | None
    """Newest event or row."""
    seconds_left: float | None
    """To the end of all trainings; null where it cannot be estimated."""
    current_stage: str | None
    """The stage that runs now."""
    current_run: str | None
    """The training that runs now."""
    pace_seconds: float | None
    """Time between the newest rows of the run that trains."""


def progress_of(record: SeenRecord, view: CampaignView) -> Progress:
    """How far `record`'s campaign is."""
    own = record.campaign_events()
    stages, runs = _stages(own), run_rows(record, view)
    phase, reason = _phase(own, runs)
    rail, scale = _rail(stages, runs, view)
    live = phase is Phase.RUNNING
    current = next((r for r in reversed(runs) if r.phase is Phase.RUNNING), None) if live else None
    times = [e.time_ns for e in own] + [e.time_ns for r in record.runs.values() for e in r.events()]
    times += [r.last_ns for r in runs if r.last_ns is not None]
    return Progress(
        phase=phase,
        reason=plain(reason) if reason else None,
        stages=stages,
        runs=runs,
        rail=rail,
        rail_scale=scale,
        started_ns=min(times, default=None),
        last_ns=max(times, default=None),
        seconds_left=_seconds_left(stages, runs, view) if live else None,
        current_stage=next((s.stage for s in reversed(stages) if s.phase is Phase.RUNNING), None) if live else None,
        current_run=current.run if current else None,
        pace_seconds=current.pace_seconds if current else None,
    )


def subject(progress: Progress) -> RunRow | None:
    """The run that the page is about: the hero once it began, else the newest run that did."""
    begun = [r for r in progress.runs if r.phase is not Phase.PLANNED]
    return next((r for r in begun if r.role == "hero"), begun[-1] if begun else None)


def _stages(events: list[Event]) -> list[StageRow]:
    ended = {e.attempt for e in events if e.kind == "attempt.end"}
    newest = max((e.attempt for e in events), default=0)
    found: dict[str, StageRow] = {}
    for event in events:
        if event.kind == "stage.start":
            cut = event.attempt in ended or event.attempt < newest
            name = plain(event.fields["stage"])
            found.pop(name, None)
            found[name] = StageRow(name, Phase.INTERRUPTED if cut else Phase.RUNNING, event.time_ns, None, None)
        if event.kind == "stage.end" and (row := found.get(plain(event.fields["stage"]))):
            spent = (float(event.fields["seconds"]), float(event.fields["cpu_seconds"]))
            found[row.stage] = StageRow(row.stage, Phase.FINISHED, row.started_ns, *spent)
    return list(found.values())


def _phase(events: list[Event], runs: list[RunRow]) -> tuple[Phase, str | None]:
    """Of the campaign; outside one, of its runs together."""
    if not events:
        unfinished = [r.phase for r in runs if r.phase is not Phase.FINISHED]
        return (unfinished[-1] if unfinished else Phase.FINISHED if runs else Phase.PLANNED), None
    newest = max(e.attempt for e in events)
    end = next((e for e in events if e.kind == "attempt.end" and e.attempt == newest), None)
    if end is not None:
        return Phase(end.fields["outcome"]), end.fields.get("reason")
    return (Phase.FINISHED if any(e.kind == "verdict" for e in events) else Phase.RUNNING), None


@dataclass(frozen=True)
class _Cost:
    """Seconds of a run as a power of its FLOPs: what the sizes before it took, carried on."""

    seconds: float
    flops: float
    slope: float

    def of(self, flops: float) -> float:
        return self.seconds * (flops / self.flops) ** self.slope


def _cost(runs: list[RunRow]) -> _Cost | None:
    """Fitted on runs of at least two sizes that are finished or know their pace; None where there are fewer.

    A small model's step costs more a FLOP than a large one's: the slope is held between a half and one.
    """
    known = {r.size: (r.flops, r.seconds + (r.seconds_left or 0.0)) for r in runs if _timed(r)}
    points = sorted((flops, seconds) for flops, seconds in known.values() if flops and seconds > 0)
    if len(points) < 2:
        return None
    logs = np.log(np.array(points))
    slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    flops, seconds = points[-1]
    return _Cost(seconds, flops, min(1.0, max(0.5, slope)))


def _timed(row: RunRow) -> bool:
    return row.phase is Phase.FINISHED or row.seconds_left is not None


@dataclass(frozen=True)
class _Timing:
    """What this record says about the length of its trainings."""

    stages: dict[str, float]
    """Wall time of each training that ended, start and compilation among it, by run."""
    cost: _Cost | None
    opening_seconds: float
    """What the newest size took beside its steps: its first seed compiles."""

    def whole_seconds(self, row: RunRow) -> float | None:
        """Of one training from end to end: as measured, by its own pace, or by the sizes before it."""
        if row.phase is Phase.FINISHED:
            return self.stages.get(row.run, row.seconds)
        opening = self.opening_seconds if row.run == row.size else 0.0
        if row.seconds_left is not None:
            return opening + row.seconds + row.seconds_left
        return opening + self.cost.of(row.flops) if self.cost and row.flops else None


def _timing(stages: list[StageRow], runs: list[RunRow]) -> _Timing:
    took = {s.stage.removeprefix("train/"): s.seconds for s in stages if s.seconds and s.stage.startswith("train/")}
    openings = [took[r.run] - r.seconds for r in runs if r.run in took and r.run == r.size]
    return _Timing(took, _cost(runs), max(0.0, openings[-1]) if openings else 0.0)


def _seconds_left(stages: list[StageRow], runs: list[RunRow], view: CampaignView) -> float | None:
    if not view.runs:
        return next((r.seconds_left for r in reversed(runs) if r.seconds_left is not None), None)
    timing = _timing(stages, runs)
    left = 0.0
    for row in (r for r in runs if r.phase is not Phase.FINISHED and view.run(r.run)):
        whole = row.seconds_left if row.seconds_left is not None else timing.whole_seconds(row)
        if whole is None:
            return None
        left += whole
    return left


def _rail(stages: list[StageRow], runs: list[RunRow], view: CampaignView) -> tuple[list[RailPart], str]:
    """The parts side by side: as wide as they take, or equal where that is not known of all."""
    timing = _timing(stages, runs)
    parts: list[RailPart] = []
    data = [s for s in stages if s.stage.startswith("data/")]
    if view.runs or data:
        parts.append(_data_part(data, begun=any(r.phase is not Phase.PLANNED for r in runs)))
    for size in dict.fromkeys(r.size for r in runs):
        group = [r for r in runs if r.size == size]
        known = [timing.whole_seconds(r) for r in group]
        seconds = None if None in known else sum(k or 0.0 for k in known)
        done = sum(r.frac if r.frac is not None else float(r.phase is Phase.FINISHED) for r in group) / len(group)
        parts.append(RailPart(size, _group_phase(group), 0.0, 0.0, done, seconds))
    timed = len(parts) > 1 and all(p.seconds is not None for p in parts) and sum(p.seconds or 0.0 for p in parts) > 0
    widths = [p.seconds or 0.0 if timed else 1.0 for p in parts]
    edges = (np.cumsum([0.0, *widths]) / max(sum(widths), 1e-9)).tolist()
    rail = [
        RailPart(p.label, p.phase, first, last, p.done, p.seconds)
        for p, (first, last) in zip(parts, pairwise(edges), strict=True)
    ]
    return rail, WALL_TIME if timed else EQUAL_PARTS


def _data_part(stages: list[StageRow], *, begun: bool) -> RailPart:
    """The data's stages; how many there will be is not in the record, so a running one counts as half."""
    phase = Phase.FINISHED if begun else Phase.RUNNING if stages else Phase.PLANNED
    seconds = sum(s.seconds or 0.0 for s in stages) if begun else None
    return RailPart("data", phase, 0.0, 0.0, {Phase.FINISHED: 1.0, Phase.RUNNING: 0.5}.get(phase, 0.0), seconds)


def _group_phase(group: list[RunRow]) -> Phase:
    phases = {r.phase for r in group}
    if len(phases) == 1:
        return phases.pop()
    return next((p for p in (Phase.FAILED, Phase.INTERRUPTED) if p in phases), Phase.RUNNING)
