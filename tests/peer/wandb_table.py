"""The table of `docs/tracker.md`: what becomes of every argument that the installed wandb takes.

`python -m tests.peer.wandb_table` writes it between its marks; needs wandb, so the environment of `make peer`. What a
row says is written here by hand; that there is a row for each argument, and none for others, comes from
`inspect.signature`.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wandb

import fanal
from fanal.tracker.run import Run

PAGE = Path(__file__).parents[2] / "docs" / "tracker.md"
BEGIN, END = "<!-- arguments: written by `python -m tests.peer.wandb_table` -->", "<!-- end of the arguments -->"
HONOURED, RECORDED, IGNORED = "honoured", "recorded", "ignored"

WHAT: dict[str, dict[str, tuple[str, str]]] = {
    "init": {
        "entity": (RECORDED, "`run.entity`, and a `settings` event; a record belongs to nobody"),
        "project": (HONOURED, "the record is `fanal/<project>` where no `dir` is given"),
        "dir": (HONOURED, "the record's folder; where it holds other things, `fanal/<project>` in it"),
        "id": (HONOURED, "a run that is there gets a further attempt"),
        "name": (HONOURED, "the run's name for people; its id is made from it where none is given"),
        "notes": (HONOURED, "kept as a blob, so that it can be redacted"),
        "tags": (HONOURED, ""),
        "config": (HONOURED, "a dict, dataclass, namespace, flags, or a `.json` or YAML file"),
        "config_exclude_keys": (HONOURED, ""),
        "config_include_keys": (HONOURED, ""),
        "allow_val_change": (IGNORED, "a changed value is kept beside the old one, so there is nothing to allow"),
        "group": (HONOURED, ""),
        "job_type": (HONOURED, ""),
        "mode": (
            HONOURED,
            "`online` and `offline` record on this machine, `shared` makes one more writer, `disabled` none",
        ),
        "force": (RECORDED, "nobody logs in"),
        "reinit": (HONOURED, "all values; by default a call that names another run ends the open one"),
        "resume": (HONOURED, "`allow`, `never`, `must`, `auto`, true and false"),
        "resume_from": (HONOURED, "a rewind: the attempt's first step is the one after `_step`"),
        "fork_from": (HONOURED, "a run of its own whose view stands on the other's up to `_step`"),
        "save_code": (HONOURED, "the main script, or `code_dir`, and the difference to the commit"),
        "tensorboard": (RECORDED, "use `fanal.SummaryWriter`, or `fanal import tensorboard … --live`"),
        "sync_tensorboard": (RECORDED, "the same"),
        "monitor_gym": (RECORDED, "log `Video` yourself"),
        "settings": (HONOURED, "those named below; the others are recorded"),
        "anonymous": (RECORDED, "nobody logs in"),
    },
    "Run.log": {
        "data": (HONOURED, "numbers, media, nested dicts; whatever else is kept marked"),
        "step": (HONOURED, "a lower one too: nothing is dropped"),
        "commit": (HONOURED, "the row is in the record at once; false keeps the step from moving on"),
    },
    "Run.finish": {"exit_code": (HONOURED, "other than 0 is the outcome `failed`")},
    "Run.define_metric": {
        "name": (HONOURED, "a key, or a pattern with `*`"),
        "step_metric": (HONOURED, "the horizontal axis"),
        "step_sync": (HONOURED, "rows without the axis get its last value"),
        "hidden": (HONOURED, "not drawn unless asked for"),
        "summary": (HONOURED, "`min`, `max`, `mean`, `last`, `best`, `first`, `copy`, `none`; the first of several"),
        "overwrite": (IGNORED, "the later definition counts, field by field"),
    },
    "Run.alert": {
        "title": (HONOURED, ""),
        "text": (HONOURED, "kept as a blob"),
        "level": (HONOURED, ""),
        "wait_duration": (HONOURED, "without it every alert is recorded"),
    },
    "Run.save": {
        "glob_str": (HONOURED, ""),
        "base_path": (HONOURED, "without it names are relative to the working folder"),
        "policy": (HONOURED, "`now` at once; `live` at once and at the end where it changed; `end` at the end"),
        "glob": (HONOURED, ""),
    },
    "Run.log_code": {
        "root": (HONOURED, ""),
        "name": (RECORDED, ""),
        "include_fn": (HONOURED, "Python files where none is given"),
        "exclude_fn": (HONOURED, ""),
    },
    "Run.log_artifact": {
        "artifact_or_path": (HONOURED, "files up to 64 MiB as blobs, larger ones by SHA-256"),
        "name": (HONOURED, ""),
        "type": (HONOURED, ""),
        "aliases": (HONOURED, "`latest` is added"),
        "tags": (HONOURED, "on the object"),
    },
    "Run.use_artifact": {
        "artifact_or_name": (HONOURED, "`name:alias` or `name:v3` of this record"),
        "type": (HONOURED, "another type is an error"),
        "aliases": (RECORDED, ""),
        "use_as": (RECORDED, ""),
    },
    "Run.log_model": {"path": (HONOURED, ""), "name": (HONOURED, ""), "aliases": (HONOURED, "")},
    "Run.watch": {
        "models": (HONOURED, "PyTorch modules"),
        "criterion": (IGNORED, ""),
        "log": (HONOURED, ""),
        "log_freq": (HONOURED, "each so many passes of a parameter"),
        "idx": (RECORDED, ""),
        "log_graph": (RECORDED, "a model's graph is not kept"),
    },
    "Run.unwatch": {"models": (HONOURED, "")},
    "Image": {
        "data_or_path": (HONOURED, "a file byte for byte; arrays, Pillow and figures as PNG"),
        "mode": (RECORDED, ""),
        "caption": (HONOURED, ""),
        "grouping": (RECORDED, ""),
        "classes": (HONOURED, "kept as given"),
        "boxes": (HONOURED, "kept as given"),
        "masks": (HONOURED, "as PNG"),
        "file_type": (HONOURED, "of Pillow's images"),
    },
    "Table": {
        "columns": (HONOURED, ""),
        "data": (HONOURED, ""),
        "rows": (HONOURED, ""),
        "dataframe": (HONOURED, ""),
        "dtype": (IGNORED, "a cell has its own type"),
        "optional": (IGNORED, "a cell may be empty"),
        "allow_mixed_types": (IGNORED, "a column may hold anything"),
        "log_mode": (IGNORED, "each `log` keeps the table as it is then"),
    },
    "Histogram": {"sequence": (HONOURED, ""), "np_histogram": (HONOURED, ""), "num_bins": (HONOURED, "")},
    "Audio": {"data_or_path": (HONOURED, ""), "sample_rate": (HONOURED, ""), "caption": (HONOURED, "")},
    "Video": {
        "data_or_path": (HONOURED, "frames become an animated PNG"),
        "caption": (HONOURED, ""),
        "fps": (HONOURED, ""),
        "format": (HONOURED, "of open files; frames are always PNG"),
    },
    "Html": {
        "data": (HONOURED, ""),
        "inject": (IGNORED, "the page brings its own looks"),
        "data_is_not_path": (HONOURED, ""),
    },
    "Artifact": {
        "name": (HONOURED, ""),
        "type": (HONOURED, ""),
        "description": (HONOURED, ""),
        "metadata": (HONOURED, ""),
        "incremental": (RECORDED, ""),
        "use_as": (RECORDED, ""),
        "storage_region": (RECORDED, ""),
        "digest_algorithm": (IGNORED, "SHA-256"),
    },
}
"""By call and argument, what becomes of it and in which words."""


def calls() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """By name, wandb's call and ours."""
    found: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}
    for name in WHAT:
        owner, _, method = name.rpartition(".")
        theirs = wandb.sdk.wandb_run.Run if owner else wandb
        found[name] = (getattr(theirs, method), getattr(Run if owner else fanal, method))
    return found


def arguments(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a call takes by name."""
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p for p in inspect.signature(call).parameters.values() if p.name != "self" and p.kind not in variable]


def table() -> str:
    """The table, a line an argument, as the installed wandb takes them."""
    lines = [f"wandb {wandb.__version__}:", "", "| call | argument | | what becomes of it |", "|---|---|---|---|"]
    for name, (theirs, _) in calls().items():
        for argument in arguments(theirs):
            what, words = WHAT[name][argument.name]
            lines.append(f"| `{name}` | `{argument.name}` | {what} | {words} |")
    return "\n".join(lines)


def page() -> str:
    """The page with the table in its place."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
