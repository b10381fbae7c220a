"""Everything the page shows, as one frozen value made from a record alone; `docs/page.md` lists every field.

The same record gives the same state, byte for byte, so a state can be named by its hash and cached
for ever. It is JSON without NaN: what is not finite is null beside a mark, integers beyond 2^53 are
decimal strings, strings people supplied carry no control characters. It costs one read of each series
it shows and does not write.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

from fanal.page.health import HealthRow, health
from fanal.page.hero import HeroChart, hero_chart
from fanal.page.ladder import LadderChart, ladder_chart
from fanal.page.model import PromiseRow, SettingsTable, promises, settings_table
from fanal.page.plan_view import campaign_view
from fanal.page.progress import Progress, progress_of
from fanal.page.reading import (
    CorpusRow,
    DataStage,
    DomainsChart,
    MixtureChart,
    corpus_rows,
    data_stages,
    domain_names,
    domains_chart,
    mixture_chart,
)
from fanal.page.router import RouterChart, router_chart
from fanal.page.runs import Phase
from fanal.page.seen import see
from fanal.page.sentences import Headline, StatusLine, headline, run_title, status_line
from fanal.page.timeline import PromptSamples, Timeline, samples, timeline
from fanal.page.words import plain
from fanal.record.reading.read import Record

FORMAT = 1
MAX_SAFE_INTEGER = 2**53
POLL_SECONDS = (0.5, 60.0)


@dataclass(frozen=True)
class PageState:
    """What people see, all of it."""

    format: int
    """Version of this layout: 1."""
    title: str
    """The campaign's title, else the record's project."""
    question: str | None
    """What the campaign asks."""
    fingerprint: str | None
    """SHA-256 of the resolved campaign; null outside one."""
    headline: Headline
    """One sentence: what, how far, against what was foretold, when it ends."""
    status: StatusLine
    """The line above it."""
    progress: Progress
    """Stages, runs, the rail and the time left."""
    health: list[HealthRow]
    """What to look at."""
    hero: HeroChart | None
    """The hero's loss with the sealed band, the smaller runs behind and the difference below."""
    promises: list[PromiseRow]
    """Promised or planned, beside what happened."""
    ladder: LadderChart | None
    """Loss against FLOPs."""
    domains: DomainsChart | None
    """Loss by domain, on one scale."""
    corpus: list[CorpusRow]
    """What there is to read."""
    data_stages: list[DataStage]
    """What each stage of the corpus kept and removed."""
    mixture: MixtureChart | None
    """What is read, planned and consumed."""
    router: RouterChart | None
    """Load, bias, entropy and dropped share of the routers."""
    timeline: Timeline
    """What happened, newest first."""
    samples: list[PromptSamples]
    """Continuations of the fixed prompts."""
    settings: SettingsTable | None
    """Hyperparameters with their laws."""


def page_state(record: Record) -> PageState:
    """What the page shows of `record`."""
    seen = see(record)
    view = campaign_view(seen)
    progress = progress_of(seen, view)
    hero = hero_chart(seen, view, progress)
    ladder = ladder_chart(seen, view, progress)
    router = router_chart(seen, progress)
    written = samples(seen, hero.run if hero else None)
    question = view.part("question")
    return PageState(
        format=FORMAT,
        title=run_title(view, next((r.name for r in seen.runs.values()), None)),
        question=plain(str(question)) if question else None,
        fingerprint=view.fingerprint,
        headline=headline(view, progress, hero, ladder),
        status=status_line(progress, hero),
        progress=progress,
        health=health(progress, hero, router, sum(len(p.rows) + p.left_out for p in written)),
        hero=hero,
        promises=promises(view, progress, ladder),
        ladder=ladder,
        domains=domains_chart(seen, progress, domain_names(seen, view)),
        corpus=corpus_rows(seen),
        data_stages=data_stages(seen, progress),
        mixture=mixture_chart(seen, view, progress),
        router=router,
        timeline=timeline(seen),
        samples=written,
        settings=settings_table(view),
    )


def waiting_state() -> PageState:
    """The page before there is a record."""
    progress = Progress(Phase.PLANNED, None, [], [], [], "equal parts", None, None, None, None, None, None)
    first = "The record is not there yet; the page looks again by itself."
    return PageState(
        format=FORMAT,
        title="A run to come",
        question=None,
        fingerprint=None,
        headline=Headline("Waiting for the first row.", first, "Waiting for the first row.", first, None),
        status=StatusLine("Waiting", []),
        progress=progress,
        health=[],
        hero=None,
        promises=[],
        ladder=None,
        domains=None,
        corpus=[],
        data_stages=[],
        mixture=None,
        router=None,
        timeline=Timeline([], 0),
        samples=[],
        settings=None,
    )


def state_json(state: PageState) -> bytes:
    """`state` as strict JSON in UTF-8; the same state gives the same bytes.

    Raises:
        ValueError: a number that is not finite got this far; a fault of ours.
    """
    return json.dumps(_plain(state), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def poll_seconds(state: PageState) -> float:
    """How long a page may wait before it asks again: half the run's own pace, between 0.5 and 60 s."""
    least, most = POLL_SECONDS
    if state.progress.phase is Phase.PLANNED:
        return 1.0
    if state.progress.phase is not Phase.RUNNING:
        return most if state.progress.phase is Phase.FINISHED else 5.0
    return min(most, max(least, (state.progress.pace_seconds or 2 * least) / 2))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        return str(value)
    return value
