"""Hugging Face's `trainer_state.json`: the rows of `log_history`, with their step and without a time.

SOURCE is the file, its folder, or a folder of checkpoints, of which the newest counts. The file is written anew at each
checkpoint: rows already imported are known by content, and a history that departs from them is a new attempt.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from fanal.errors import RecordError
from fanal.importers.columns import Columns, flat
from fanal.importers.findings import Findings, Unreadable
from fanal.importers.growing import GrowingRun, Place, unreadable_line
from fanal.importers.items import About, Fact, Item

FILE = "trainer_state.json"
CONFIG = ("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps", "train_batch_size")
SUMMARY = ("global_step", "epoch", "total_flos", "best_metric", "best_global_step", "num_input_tokens_seen")
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")


class HistoryRows:
    """Rows of a `trainer_state.json`."""

    rewritten = True

    def rows(self, path: Path, place: Place, findings: Findings) -> Iterator[tuple[bytes, list[Item]]]:
        """The rows after `place`."""
        state = _read(path, findings)
        history = state.get("log_history") if state else None
        if not isinstance(history, list):
            if state is not None:
                findings.unreadable.append(unreadable_line(1, "holds no list `log_history`"))
            return
        columns = Columns(findings)
        rows = cast("list[Any]", history)
        for number, row in enumerate(rows[place.rows :], place.rows + 1):
            content = json.dumps(row, sort_keys=True).encode()
            items: list[Item] = []
            try:
                items += columns.items(flat(_as_object(row)))
            except ValueError as error:
                findings.unreadable.append(Unreadable(f"log_history[{number - 1}]", str(error)))
            if number == len(rows):
                items.append(Fact("summary", {"values": _chosen(state, SUMMARY)}))
            yield content, items


def _as_object(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"is no object: {str(row)[:60]}")
    return cast("dict[str, Any]", row)


def _read(path: Path, findings: Findings) -> dict[str, Any] | None:
    data = path.read_bytes()
    try:
        state = json.loads(data)
    except (ValueError, RecursionError) as error:
        more = isinstance(error, json.JSONDecodeError) and error.msg == "Extra data"
        if data and (more or data.lstrip()[:1] != b"{"):
            findings.unreadable.append(unreadable_line(1, f"is no JSON: {error}"))
        else:
            findings.torn_bytes = len(data)  # it is written in place: the next look finds it whole
        return None
    if not isinstance(state, dict):
        findings.unreadable.append(unreadable_line(1, "is no JSON object"))
        return None
    return cast("dict[str, Any]", state)


def _chosen(state: dict[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: state[name] for name in names if state and state.get(name) is not None}


def find_runs(source: Path, live: bool = False) -> dict[str, GrowingRun]:
    """The run of a `trainer_state.json`.

    Raises:
        RecordError: there is no such file, or it is of another kind.
    """
    path = _newest(source)
    if path is None:
        raise RecordError(f"{source}: expected {FILE}, a folder with it or with checkpoint-<step> folders")
    findings = Findings()
    state = _read(path, findings)
    if state is not None and not isinstance(state.get("log_history"), list):
        raise RecordError(f"{path} is no {FILE}: it holds no list `log_history`")
    if findings.unreadable:
        raise RecordError(f"{path} is no {FILE}: it {findings.unreadable[0].what}")
    folder = path.parent if _CHECKPOINT.fullmatch(path.parent.name) is None else path.parent.parent
    config = _chosen(state, CONFIG)
    about = About(folder.resolve().name, config=config or None)
    return {folder.name: GrowingRun([(path, HistoryRows())], about, folder, live)}


def _newest(source: Path) -> Path | None:
    if source.is_file():
        return source
    named = ((_CHECKPOINT.fullmatch(path.name), path) for path in source.glob("checkpoint-*"))
    folders = {int(found[1]): path for found, path in named if found}
    candidates = [source, *(folders[step] for step in sorted(folders, reverse=True))]
    return next((folder / FILE for folder in candidates if (folder / FILE).is_file()), None)
