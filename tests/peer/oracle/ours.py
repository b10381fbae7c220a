"""What the shim kept, from the record."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fanal.record.blobs import read_blob
from fanal.record.events import Event
from fanal.record.reading.begun import Attempt
from fanal.record.reading.read import open_record
from fanal.record.reading.run_view import RunView
from fanal.record.values import BlobRef, Media
from tests.peer.oracle.told import Told, by_clock, counted, file_name, flat, metadata, without_id

DEFINED = ("step_metric", "hidden", "summary")


def told_by_fanal(folder: Path) -> list[Told]:
    """Every sitting under `folder`, in order of their beginning."""
    records = [open_record(path.parent) for path in sorted(folder.rglob("record.json"))]
    runs = [(record.path, run) for record in records for run in record.runs.values() if run.role != "record"]
    sittings = [(attempt.start_ns, path, run, attempt) for path, run in runs for attempt in run.attempts]
    begun = sorted(sittings, key=lambda one: one[0])
    return [without_id(_told(record, run, attempt), _random_id(run)) for _, record, run, attempt in begun]


def _random_id(run: RunView) -> str:
    """The run's id; empty where it was made of the run's name."""
    named = any(event.fields.get("name") for event in run.events("attempt.start"))
    return "" if named else run.id


def _told(record: Path, run: RunView, attempt: Attempt) -> Told:
    told = {f"rows {key}": series for key, series in _rows(run, attempt.number).items()}
    told |= {f"config {key}": value for key, value in flat(attempt.config)}
    if attempt.number == run.attempts[-1].number:
        told |= {f"summary {key}": "<clock>" if by_clock(key) else value for key, value in _summary(run).items()}
    events = [_with_words(record, event) for event in run.events() if event.attempt == attempt.number]
    return told | _labels(run, events, attempt) | _definitions(events) | _kept(events)


def _rows(run: RunView, attempt: int) -> dict[str, dict[int, Any]]:
    rows: dict[str, dict[int, Any]] = defaultdict(dict)
    for key in run.keys():  # noqa: SIM118
        if not key.startswith("system/"):
            steps = run.series(key, attempt).steps.tolist()
            rows[key] = dict(zip(steps, run.exact(key, attempt), strict=True))
    for other in run.others():
        if other.attempt == attempt:
            rows[other.key][other.step] = plain(other.value)
    found = {key: series for key, series in rows.items() if series}
    return {key: dict.fromkeys(series, "<clock>") if by_clock(key) else series for key, series in found.items()}


def _summary(run: RunView) -> dict[str, Any]:
    summary = {key: value for key, value in run.summary.items() if not key.startswith("system/")}
    return dict(flat({key: plain(value) for key, value in summary.items()}))


def _with_words(record: Path, event: Event) -> Event:
    """The event with the words that its blobs hold in their place."""
    fields = {
        name: read_blob(record, value).decode() if isinstance(value, BlobRef) and name in ("notes", "text") else value
        for name, value in event.fields.items()
    }
    return replace(event, fields=fields)


def _labels(run: RunView, events: list[Event], attempt: Attempt) -> Told:
    """What the attempt began with, and what the script set since; the name is what the run is called by."""
    known = dict(next(event.fields for event in events if event.kind == "attempt.start"))
    for event in events:
        if event.kind == "settings" and (event.fields["call"] == "init" or event.fields["call"].startswith("run.")):
            known |= event.fields["given"]
    said = {name: known.get(name) for name in ("project", "entity", "group", "job_type", "notes")}
    said["name"] = "" if run.name == run.id and not known.get("name") else run.name
    said["tags"] = sorted(known.get("tags") or [])
    outcome = attempt.outcome or "open"
    return {f"label {name}": value for name, value in said.items() if value} | {"label outcome": outcome}


def _definitions(events: list[Event]) -> Told:
    found: Told = {}
    for event in events:
        if event.kind == "metric" and not event.fields["pattern"].startswith("system/"):
            said = {name: event.fields[name] for name in DEFINED if event.fields.get(name)}
            if "summary" in said:
                said["summary"] = sorted(said["summary"].split(","))
            found[f"metric {event.fields['pattern']}"] = said
    return found


def _kept(events: list[Event]) -> Told:
    told: Told = {}
    for event in events:
        fields: Mapping[str, Any] = event.fields
        if event.kind == "alert":
            told[f"alert {fields['title']}"] = {"text": fields["text"], "level": fields["level"]}
        elif event.kind == "artifact" and fields["direction"] == "logged":
            said = {"type": fields["type"], "files": sorted(file["name"] for file in fields["files"])}
            said |= {"metadata": metadata(fields["metadata"]), "aliases": sorted(fields["aliases"])}
            told[counted(told, f"artifact {fields['name']}")] = said
        elif event.kind == "code" and fields["files"]:
            told[counted(told, "code")] = sorted(file["name"] for file in fields["files"])
        elif event.kind == "file":
            told[f"file {file_name(fields['name'])}"] = "kept"
    return told


def plain(value: Any) -> Any:
    """A logged value; of media, what both trackers say of them."""
    if not isinstance(value, Media):
        return value
    kind, items = value["$media"], value.get("items", [value])
    if kind == "histogram":
        return {"media": "histogram", "values": value["counts"], "bins": value["edges"]}
    if kind == "table":
        return {"media": "table", "columns": len(value["columns"]), "rows": value["num_rows"]}
    if kind == "image":
        captions = [item["caption"] for item in items if item["caption"]]
        size = {"width": items[0]["width"], "height": items[0]["height"]}
        return {"media": "image", "count": len(items)} | size | {"captions": captions}
    return {"media": kind}
