"""The result in words and pictures: `report.md`, two pictures and the result card, from the record alone.

Guarantees: every figure is read from the record's `verdict`, its sealed `forecast` or its series; a
second call writes the same bytes. Cost: about three seconds, most of it type and drawing. Does not:
judge (the verdict was written when the hero ended), or need anything but a record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.ladder.seal import Sealed, sealed_forecast
from fanal.ladder.show import (
    forecast_words,
    method_table,
    rung_table,
    sensitivity_table,
    table,
    verdict_words,
)
from fanal.page.card import result_card
from fanal.page.ink import house_style, save
from fanal.page.pictures import Curve, Story, curve_picture, ladder_picture
from fanal.page.plan_view import CampaignView, campaign_view
from fanal.page.timeline import last_scores
from fanal.page.words import counted, duration, plain, signed
from fanal.record.files import write_whole
from fanal.record.reading.read import Record, RunView, open_record

Json = Any

RECORD_FOLDER = "record"
CURVE, LADDER, CARD, REPORT = "pictures/curve.svg", "pictures/ladder.svg", "card.png", "report.md"


@dataclass(frozen=True)
class WrittenReport:
    """What `fanal report` answers."""

    text: str
    """The report itself, as Markdown."""
    files: tuple[Path, ...]

    def to_json(self) -> dict[str, Json]:
        """For `--json`: the files and the text."""
        return {"files": [str(path) for path in self.files], "text": self.text}


@dataclass(frozen=True)
class Result:
    """A finished campaign, read back."""

    campaign: CampaignView
    summary: Mapping[str, Json]
    sealed: Sealed
    story: Story
    scores: Sequence[Mapping[str, Json]]
    """Every eval that was held against the forecast, in order."""

    @property
    def title(self) -> str:
        return plain(self.campaign.part("title") or self.campaign.part("name") or "A ladder and its hero")


def write_report(path: Path) -> WrittenReport:
    """Write report, pictures and card beside the record at `path` (a record, or the folder that holds one).

    Raises: RecordError where the record has no verdict yet, or no forecast.
    """
    record = open_record(path)
    result = read_result(record)
    folder = path if (path / RECORD_FOLDER).is_dir() else path.parent
    with house_style():
        files = [
            save(curve_picture(result.story), folder / CURVE),
            save(ladder_picture(result.story), folder / LADDER),
            save(result_card(result.story, result.summary, result.title), folder / CARD),
        ]
    text = report_text(result)
    write_whole(folder / REPORT, text.encode())
    return WrittenReport(text, (*files, folder / REPORT))


def read_result(record: Record) -> Result:
    """The verdict, the sealed forecast and the curves of a finished campaign.

    Raises: RecordError where one of them is missing.
    """
    verdicts = record.campaign.events("verdict") if record.campaign else []
    hero = next((view for view in record.runs.values() if view.role == "hero"), None)
    sealed = sealed_forecast(hero) if hero else None
    if not verdicts or hero is None or sealed is None:
        missing = [w for w, there in (("hero", hero), ("sealed forecast", sealed), ("verdict", verdicts)) if not there]
        raise RecordError(
            f"the record has no {' and no '.join(missing)}: the report is written when the hero has ended"
        )
    campaign, summary = campaign_view(record), verdicts[-1].fields["summary"]
    metric = _followed(sealed.document)
    sizes = {rung["name"] for rung in sealed.document["rungs"]}
    rungs = tuple(_curve(view, metric, campaign) for name, view in record.runs.items() if name in sizes)
    phases: Sequence[Mapping[str, Json]] = campaign.part("mixture", "phase") or []
    ends = [float(phase["until"]) for phase in phases]
    story = Story(
        sealed.document,
        metric,
        _curve(hero, metric, campaign),
        rungs,
        [e for e in ends if e < 1],
        summary["hero"]["loss"],
    )
    scored = [e for e in hero.events("forecast.score") if e.fields["forecast_sha256"] == sealed.sha256]
    return Result(campaign, summary, sealed, story, [event.fields for event in last_scores(scored)])


def _followed(document: Mapping[str, Json]) -> str:
    """The metric that is foretold at the most shares of the run: the one with a curve."""
    return max(document["metrics"], key=lambda metric: len(document["metrics"][metric]["progress"]))


def _curve(view: RunView, metric: str, campaign: CampaignView) -> Curve:
    series, planned = view.series(metric), campaign.run(view.id)
    num_steps = (planned.num_steps if planned else None) or int(series.steps[-1])
    return Curve(view.id, (series.steps / num_steps).tolist(), series.values.tolist())


def report_text(result: Result) -> str:
    """The report as Markdown."""
    summary, document, written = result.summary, result.sealed.document, result.campaign.part("question")
    parts = [
        f"# {result.title}",
        *([plain(written)] if written else []),
        verdict_words(summary),
        f"![The result in one picture: foretold, measured, and the ladder between]({CARD})",
        "## The forecast",
        forecast_words(document),
        f"![Loss of hero and rungs over progress, with the sealed forecast's median and 80 % band]({CURVE})",
        _along(result),
        f"![Loss at the end against compute: rungs, forecast and hero]({LADDER})",
        method_table(summary),
        _how_to_read(summary),
        "## The rungs",
        rung_table(document),
        _conventions(document),
        "## What else one could have said",
        "Every row makes one choice otherwise and forecasts again; none has seen the hero.",
        sensitivity_table(document),
        "## Time",
        _times(summary),
        "## Check it",
        _check(result),
    ]
    return "\n\n".join(parts) + "\n"


def _along(result: Result) -> str:
    """How the hero ran beside its forecast, over all evals."""
    scores = [s for s in result.scores if s["metric"] == result.story.metric]
    if not scores:
        return "No eval of the hero was held against the forecast while it trained."
    inside = sum(s["inside"] for s in scores)
    off = sum(s["measured"] - s["p50"] for s in scores) / len(scores)
    return (
        f"While it trained the hero was scored {counted(len(scores), 'time')} on `{result.story.metric}`: {inside} "
        f"inside the 80\u00a0% band, {signed(off, 3)} from the median on average. Neighbouring evals go wrong "
        "together: they are no independent trials."
    )


def _how_to_read(summary: Mapping[str, Json]) -> str:
    return (
        f"Losses are {summary['unit']}, the mean over domains of `{summary['metric']}`. Skill is 1 − |error| over what "
        "the hero gained on the largest rung: 1 is exact, 0 is as good as foretelling no gain."
    )


def _conventions(document: Mapping[str, Json]) -> str:
    compute = document["compute"]
    return (
        f"FLOPs are `{compute['convention']}` ({compute['means']}). Losses are means over seeds; the spread between "
        "seeds is the forecast's noise term."
    )


def _times(summary: Mapping[str, Json]) -> str:
    seconds = summary["seconds"]
    stages = [name for name in seconds if name != "total"]
    rows = [[name, duration(seconds[name])] for name in (*stages, "total")]
    return table(("stage", "wall time"), rows)


def _check(result: Result) -> str:
    foretold = result.summary["forecast"]
    sealed = "is" if foretold["sealed_before_step_0"] else "is **not**"
    lines = [
        f"The forecast `{result.sealed.sha256}` {sealed} before the hero's first row; `fanal verify` computes that "
        "from the record's sequence numbers, and names the first file that was changed, if one was.",
    ]
    if result.campaign.fingerprint:
        lines.append(f"Campaign fingerprint `{result.campaign.fingerprint}`.")
    lines.append("That a number in the record is true is not proved by this; training the campaign again is.")
    return " ".join(lines)
