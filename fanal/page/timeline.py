"""What happened, newest first, and what the model wrote: events in words, and continuations of the fixed prompts.

Repeated events of a kind (checkpoints, rounds of samples, finished data stages) are told once with their
count, so that the list stays short on a run of any length; nothing else is left out without a word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanal.page.seen import SeenRecord
from fanal.page.words import counted, duration, figure, plain, short
from fanal.record.events import Event

CAMPAIGN = "campaign"
ONCE = (("checkpoint", "checkpoint"), ("sample", "continuation"))
MAX_HAPPENINGS = 60
MAX_SAMPLES_A_PROMPT = 4


@dataclass(frozen=True)
class Happening:
    """One line of the timeline."""

    time_ns: int
    """When, ns since 1970, UTC; of repeated events the newest."""
    run: str
    """Whose event it is; `campaign` for the campaign's own."""
    step: int | None
    """Step, where it has one."""
    kind: str
    """`fault`, `planned` or `figure`: triangle, square or ring."""
    title: str
    """What happened."""
    detail: str
    """Figures."""


@dataclass(frozen=True)
class Timeline:
    """The campaign's happenings."""

    happenings: list[Happening]
    """Newest first."""
    left_out: int
    """Older ones that are not listed here."""


@dataclass(frozen=True)
class SampleRow:
    """One continuation."""

    run: str
    """Who wrote it."""
    step: int
    """After how many updates."""
    text: str
    """The continuation, without the prompt."""


@dataclass(frozen=True)
class PromptSamples:
    """Continuations of one fixed prompt, weakest model first."""

    prompt: str
    """The prompt."""
    rows: list[SampleRow]
    """The last of each rung, then the hero's from first to newest."""
    left_out: int
    """Rounds of the hero that are not listed here."""


def timeline(record: SeenRecord) -> Timeline:
    """The happenings of all runs, newest first."""
    runs = [*([record.campaign] if record.campaign else []), *record.runs.values()]
    told = [line for run in runs for line in _told(run.events())]
    told.sort(key=lambda line: line.time_ns, reverse=True)
    return Timeline(told[:MAX_HAPPENINGS], max(0, len(told) - MAX_HAPPENINGS))


def last_scores(events: Sequence[Event]) -> list[Event]:
    """Of a run's `forecast.score` events the last at each step of each metric: a resume scores some steps again."""
    return list({(event.fields["metric"], event.step): event for event in events}.values())


def _told(events: Sequence[Event]) -> Iterator[Happening]:
    """The events of one run in words; kinds that repeat are told once, at their newest."""
    if _smooth(events):
        yield _whole(events)
        return
    repeated: dict[str, list[Event]] = {}
    for event in events:
        if event.kind in ("checkpoint", "sample", "forecast.score") or (
            event.kind == "stage.end" and _group(event) == "data"
        ):
            repeated.setdefault(event.kind, []).append(event)
        elif words := _words(event):
            yield Happening(event.time_ns, plain(event.run), event.step, *words)
    for kind, group in repeated.items():
        newest = group[-1]
        yield Happening(newest.time_ns, plain(newest.run), newest.step, "planned", *_repeated(kind, group))


def _smooth(events: Sequence[Event]) -> bool:
    """Whether a training began, ended and had nothing to tell between: one line says it."""
    kinds = {e.kind for e in events}
    quiet = kinds <= {"attempt.start", "attempt.end", "config", "mixture", "checkpoint", "sample"}
    ends = [e for e in events if e.kind == "attempt.end"]
    return quiet and len(ends) == 1 and ends[0].fields["outcome"] == "finished" and ends[0].run != CAMPAIGN


def _whole(events: Sequence[Event]) -> Happening:
    first, last = events[0], events[-1]
    counts = [(n, noun) for kind, noun in ONCE if (n := sum(e.kind == kind for e in events))]
    facts = [duration((last.time_ns - first.time_ns) / 1e9), *(counted(n, noun) for n, noun in counts)]
    step = max((e.step for e in events if e.step is not None), default=None)
    return Happening(last.time_ns, plain(last.run), step, "planned", "Trained", ", ".join(facts))


def _group(event: Event) -> str:
    return str(event.fields["stage"]).partition("/")[0]


def _repeated(kind: str, group: list[Event]) -> tuple[str, str]:
    newest = group[-1].fields
    if kind == "checkpoint":
        return counted(
            len(group), "checkpoint"
        ), f"newest {short(newest['bytes'])}B, position {figure(newest['position'], 0)}"
    if kind == "sample":
        prompts = len({e.fields["prompt"] for e in group})
        return f"Samples of {counted(prompts, 'prompt')}", counted(len(group), "continuation")
    if kind == "forecast.score":
        scores = last_scores(group)
        inside = sum(bool(e.fields["inside"]) for e in scores)
        return "Held against the forecast", f"inside the 80 % interval at {inside} of {len(scores)} evals".replace(
            " %", "\u00a0%"
        )
    seconds = sum(float(e.fields["seconds"]) for e in group)
    return f"{counted(len(group), 'data stage')} finished", duration(seconds)


def _words(event: Event) -> tuple[str, str, str] | None:
    """Kind of mark, title and figures of one event; None where another event tells it."""
    fields = event.fields
    match event.kind:
        case "attempt.start" if fields["cause"] == "start":
            return ("planned", "Begins", "") if event.run == CAMPAIGN else ("planned", "Training begins", "")
        case "attempt.start":
            since = fields.get("from_step")
            return (
                "fault",
                f"Attempt {event.attempt}: {plain(fields['cause'])}",
                f"goes on from step {figure(since, 0)}" if since else "",
            )
        case "attempt.end" if fields["outcome"] == "finished":
            return "planned", "Complete", ""
        case "attempt.end":
            return "fault", plain(fields["outcome"]).capitalize(), plain(fields.get("reason") or "cause not stated")
        case "forecast":
            return "planned", "Forecast sealed", f"SHA-256 {plain(fields['sha256'])[:16]}"
        case "skip":
            loss, limit = fields.get("loss"), fields.get("limit")
            known = isinstance(loss, float) and isinstance(limit, float)
            return (
                "fault",
                f"Update skipped: {plain(fields['reason']).replace('_', ' ')}",
                f"loss {loss:.3f}, limit {limit:.3f}" if known else "",
            )
        case "recovered":
            torn, damaged = counted(fields["torn_bytes"], "byte"), counted(fields["damaged_frames"], "damaged frame")
            lost = f"{torn} of a torn tail left out, {damaged}"
            return "fault", "Log recovered", f"{figure(fields['frames'], 0)} frames kept; {lost}"
        case "verdict":
            return "figure", "Verdict", ""
        case "note":
            return "figure", plain(fields["text"])[:200], plain(fields.get("author") or "author not stated")
        case "corpus":
            return "planned", "Corpus ready", counted(len(fields["domains"]), "domain")
        case _:
            return None


def samples(record: SeenRecord, hero: str | None) -> list[PromptSamples]:
    """What each model made of the fixed prompts."""
    events = [e for run in record.runs.values() for e in run.events("sample")]
    prompts = dict.fromkeys(str(e.fields["prompt"]) for e in events)
    return [_prompt(prompt, [e for e in events if e.fields["prompt"] == prompt], hero) for prompt in prompts]


def _prompt(prompt: str, events: list[Event], hero: str | None) -> PromptSamples:
    newest = {e.run: e for e in events if e.run != hero and "-s" not in e.run}
    grown = list({(e.step or 0): e for e in events if e.run == hero}.values())
    grown.sort(key=lambda e: e.step or 0)
    shown = _spread(grown, MAX_SAMPLES_A_PROMPT)
    rows = [SampleRow(plain(e.run), e.step or 0, plain(e.fields["text"])) for e in [*newest.values(), *shown]]
    return PromptSamples(plain(prompt), rows, len(grown) - len(shown))


def _spread(events: list[Event], count: int) -> list[Event]:
    """At most `count` of `events`, first and last among them, evenly spread between."""
    if len(events) <= count:
        return events
    return [events[round(i * (len(events) - 1) / (count - 1))] for i in range(count)]
