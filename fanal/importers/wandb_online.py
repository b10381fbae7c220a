"""A run on a wandb server, through wandb's own client: every row of its history, never the sampled one.

Rows are scanned with all keys at once, since a scan for some keys returns only rows that have them all. The import goes
on after the last step it brought, waits when the server asks for it, and at the end holds what came against what the
server says it has. The server offers system metrics only sampled: they are not imported.
"""

import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fanal.errors import RecordError
from fanal.importers.columns import flat
from fanal.importers.findings import Expected, Findings
from fanal.importers.items import About, Batch, Cursor, Fact, Item, split
from fanal.importers.times import from_seconds
from fanal.importers.wandb_file import INTERNAL_KEYS

Errors = tuple[type[Exception], ...]
PAGE_ROWS = 1000
TRIES = 8
FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS = 1.0, 60.0
NON_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""How the server sends what JSON does not have."""


class OnlineRun:
    """One run on a server."""

    def __init__(self, path: str, run: Any, errors: Errors) -> None:
        self.findings = Findings(notes=["system metrics are offered only sampled: not imported"])
        self._path = path
        self._run = run
        self._errors = errors
        self._next_step = 0
        self._rows = 0

    def about(self) -> About:
        """What the server says of the run."""
        run, state = self._run, str(self._run.state)
        outcome = {"finished": "finished", "failed": "failed", "crashed": "failed"}.get(state, "interrupted")
        config = {key: value for key, value in dict(run.config).items() if key != "_wandb"}
        return About(
            str(run.id),
            str(run.name),
            str(run.project),
            run.group,
            run.job_type,
            tuple(run.tags),
            run.notes,
            config or None,
            outcome,
            None if outcome == "finished" else f"the server says {state}",
        )

    def owns(self, cursor: Cursor) -> bool:
        """Whether an earlier import read this run."""
        return cursor.get("path") == self._path

    def seek(self, cursor: Cursor) -> None:
        """Go on from an earlier import."""
        self._next_step, self._rows = int(cursor["next_step"]), int(cursor["rows"])

    def close(self) -> None:
        """Nothing waits."""

    def renew(self, found: "OnlineRun") -> None:
        """Ask the server anew what the run has by now."""
        self._run = found._run

    def read(self) -> Iterator[Batch]:
        """Every row from the step on that has not been imported."""
        self.findings.expected = self._expected()
        waits, brought = 0, self._rows
        while self._next_step <= int(self._run.lastHistoryStep):
            try:
                yield from self._scan()
                break
            except self._errors as error:
                waits = waits + 1 if self._rows == brought else 1
                brought = self._rows
                if waits >= TRIES:
                    raise RecordError(f"wandb run {self._path!r}: {error}; run the import again to go on") from error
                time.sleep(_wait_seconds(error, waits))
        self._check()

    def _scan(self) -> Iterator[Batch]:
        items: list[Item] = []
        rows, last = 0, None
        for row in self._run.scan_history(page_size=PAGE_ROWS, min_step=self._next_step):
            step = int(row["_step"])
            if rows >= PAGE_ROWS and step != last:
                self._next_step, self._rows = step, self._rows + rows
                yield Batch(items, self.cursor())
                items, rows = [], 0
            items += _items(step, row)
            rows, last = rows + 1, step
        if last is None:
            return
        self._next_step, self._rows = last + 1, self._rows + rows
        values = {k: v for k, v in flat(dict(self._run.summary)).items() if not k.startswith("_")}
        yield Batch([*items, Fact("summary", {"values": values})], self.cursor())

    def _expected(self) -> Expected:
        known: dict[str, Any] = self._run.historyKeys or {}
        keys: dict[str, Any] = known.get("keys") or {}
        counts = {key: sum(int(one["count"]) for one in about.get("typeCounts", [])) for key, about in keys.items()}
        return Expected({key: count for key, count in counts.items() if count and key not in INTERNAL_KEYS})

    def _check(self) -> None:
        """Hold what came against the server's own counts."""
        lines = self._run._attrs.get("historyLineCount")
        last = int(self._run.lastHistoryStep)
        missing = self.findings.expected.missing
        if isinstance(lines, int) and self._rows < lines:
            missing.append(f"the server counts {lines} rows, {self._rows} came")
        if self._next_step <= last:
            missing.append(f"the server's last step is {last}, the last that came is {self._next_step - 1}")

    def cursor(self) -> Cursor:
        """The place in the run: the first step that has not come."""
        return {"path": self._path, "next_step": self._next_step, "rows": self._rows}


def _items(step: int, row: dict[str, Any]) -> list[Item]:
    stamp = row.get("_timestamp")
    time_ns = from_seconds(stamp) if isinstance(stamp, int | float) else 0
    values = {k: NON_FINITE.get(v, v) if isinstance(v, str) else v for k, v in flat(row).items()}
    return split(step, time_ns, {k: v for k, v in values.items() if k not in INTERNAL_KEYS and v is not None})


def _errors_of(wandb: Any) -> Errors:
    """What the client raises when the server refuses or does not answer; it waits and tries again itself before."""
    service: Any = importlib.import_module("wandb.sdk.lib.service.service_connection")
    return (wandb.errors.Error, getattr(service, "WandbApiFailedError", wandb.errors.Error))


def _wait_seconds(error: Any, tries: int) -> float:
    """What the server asked for, or twice as long each time."""
    headers: Any = getattr(getattr(error, "response", None), "headers", {})
    asked: Any = headers.get("Retry-After")
    try:
        return min(float(asked), LAST_WAIT_SECONDS)
    except (TypeError, ValueError):
        return min(FIRST_WAIT_SECONDS * 2 ** (tries - 1), LAST_WAIT_SECONDS)


def find_runs(source: Path, live: bool = False) -> dict[str, OnlineRun]:
    """The run `entity/project/run`, or every run of `entity/project`.

    Raises:
        RecordError: there is no client, no such run, or the import should be live.
    """
    if live:
        raise RecordError("wandb-online has no --live: run the import again, it brings what is new")
    try:
        wandb: Any = importlib.import_module("wandb")
    except ImportError as error:
        raise RecordError("wandb-online needs wandb's own client: pip install wandb") from error
    path, errors = source.as_posix(), _errors_of(wandb)
    parts = path.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise RecordError(f"{path}: expected ENTITY/PROJECT/RUN, or ENTITY/PROJECT for all its runs")
    try:
        api = wandb.Api()
        paths = [path] if len(parts) == 3 else [f"{path}/{run.id}" for run in api.runs(path)]
        runs = [api.run(one) for one in paths]
    except (*errors, ValueError) as error:
        raise RecordError(f"wandb {path!r} cannot be opened: {error}") from error
    return {where: OnlineRun(where, run, errors) for where, run in zip(paths, runs, strict=True)}
