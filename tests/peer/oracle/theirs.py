"""What the real wandb kept, from its offline files by our reader."""

from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fanal.importers.wandb_file import WandbFile, read_wandb
from fanal.importers.wandb_records import Metric
from tests.peer.oracle.told import INTERNAL, Told, by_clock, counted, file_name, flat, metadata, without_id

OUTCOMES = {0: "finished", None: "open"}
WRITTEN_BY_WANDB = (
    "requirements.txt",
    "wandb-metadata.json",
    "config.yaml",
    "wandb-summary.json",
    "conda-environment.yaml",
)


def told_by_wandb(folder: Path) -> list[Told]:
    """Every sitting under `folder`, in order of their beginning."""
    files = [read_wandb(path) for path in folder.rglob("offline-run-*/run-*.wandb") if "latest-run" not in path.parts]
    damaged = [file.run.run_id for file in files if file.tail != "whole"]
    assert not damaged, f"unreadable .wandb files of runs {damaged}"
    begun = sorted(files, key=lambda file: file.run.start_ns)
    last = {file.run.run_id: number for number, file in enumerate(begun)}
    return [without_id(_told(f, n == last[f.run.run_id]), f.run.run_id) for n, f in enumerate(begun)]


def _told(file: WandbFile, last: bool) -> Told:
    """What a file tells; the summary is that of the run, which its last sitting has."""
    told: Told = {}
    rows: dict[str, dict[int, Any]] = defaultdict(dict)
    for step, values in file.history:
        for key, value in values.items():
            if key not in INTERNAL:
                rows[key][step] = "<clock>" if by_clock(key) else plain(value)
    told |= {f"rows {key}": series for key, series in rows.items()}
    config = {key: value for key, value in file.config.items() if key != "_wandb"}
    told |= {f"config {key}": value for key, value in flat(config)}
    summary = flat({key: value for key, value in file.summary.items() if key not in INTERNAL and last})
    told |= {f"summary {key}": "<clock>" if by_clock(key) else plain(value) for key, value in summary}
    told |= _labels(file)
    told |= _definitions(file.metrics)
    told |= _kept(file)
    return told


def _labels(file: WandbFile) -> Told:
    run = file.run
    said = {
        "name": run.name,
        "project": run.project,
        "entity": run.entity,
        "group": run.group,
        "job_type": run.job_type,
        "notes": run.notes,
        "tags": sorted(run.tags),
    }
    outcome = OUTCOMES.get(file.exit_code, "failed")
    return {f"label {name}": value for name, value in said.items() if value} | {"label outcome": outcome}


def _definitions(metrics: list[Metric]) -> Told:
    """Definitions as the script made them: wandb also writes one, the same, for each key that a pattern means."""
    patterns = {metric.glob: _said(metric) for metric in metrics if metric.glob}
    found: Told = {f"metric {pattern}": said for pattern, said in patterns.items()}
    for metric in metrics:
        meant = [said for pattern, said in patterns.items() if fnmatchcase(metric.name, pattern)]
        if metric.name and _said(metric) not in meant:
            found[f"metric {metric.name}"] = _said(metric)
    return found


def _said(metric: Metric) -> dict[str, Any]:
    said = {"step_metric": metric.step_metric, "hidden": metric.hidden, "summary": sorted(metric.summary)}
    return {key: value for key, value in said.items() if value}


def _kept(file: WandbFile) -> Told:
    told: Told = {f"alert {a.title}": {"text": a.text, "level": a.level.lower()} for a in file.alerts}
    for artifact in file.artifacts:
        names = sorted(entry["name"] for entry in artifact.files)
        said = {"type": artifact.type, "files": names, "metadata": metadata(artifact.metadata)}
        told[counted(told, f"artifact {artifact.name}")] = said | {"aliases": sorted(artifact.aliases)}
    names = [name for name in file.files if name not in WRITTEN_BY_WANDB and not name.startswith("media/")]
    return told | {f"file {file_name(name)}": "kept" for name in names}


def plain(value: Any) -> Any:
    """A logged value; of media, what both trackers say of them."""
    if not isinstance(value, Mapping) or "_type" not in value:
        return value
    kind, said = str(value["_type"]), dict(value)
    if kind == "histogram":
        return {"media": "histogram", "values": said["values"], "bins": said["bins"]}
    if kind == "table-file":
        return {"media": "table", "columns": said["ncols"], "rows": said["nrows"]}
    if kind == "image-file":
        captions = [said["caption"]] if "caption" in said else []
        return {"media": "image", "count": 1, "width": said["width"], "height": said["height"], "captions": captions}
    if kind == "images/separated":
        captions = said.get("captions") or []
        return {"media": "image", "count": said["count"], "width": said["width"], "height": said["height"]} | {
            "captions": list(captions)
        }
    return {"media": kind.removesuffix("-file").lower()}
