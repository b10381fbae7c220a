"""A stand-in for wandb's client, with its ways: a scan for keys gives only rows that have them all, `history` samples.

Used where wandb is not installed; `wandb_server.py` is what the real client is tested against.
"""

import random
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


class ClientError(Exception):
    """What the client raises."""


class Run:
    """A run as the client gives it."""

    id, name, project, group, job_type, notes, state = "r1", "nice", "p", None, None, None, "finished"

    def __init__(self, rows: list[dict[str, Any]], claimed_rows: int | None = None) -> None:
        self.rows = rows
        self.tags = ["a"]
        self.config = {"lr": 0.1}
        self.summary = {"best": 3.5, "_step": rows[-1]["_step"]}
        self.lastHistoryStep = rows[-1]["_step"]
        self.historyKeys: dict[str, Any] = {"keys": {}}
        self._attrs = {"historyLineCount": len(rows) if claimed_rows is None else claimed_rows}
        self.failures: list[int] = []
        """After how many rows of a scan the connection fails, by scan."""
        self.scanned_from: list[int] = []

    def scan_history(
        self, keys: list[str] | None = None, page_size: int = 1000, min_step: int = 0
    ) -> Iterator[dict[str, Any]]:
        """Every row that has all of `keys`."""
        del page_size
        self.scanned_from.append(min_step)
        fails_after = self.failures.pop(0) if self.failures else None
        for number, row in enumerate(row for row in self.rows if row["_step"] >= min_step):
            if number == fails_after:
                raise ClientError("429 Too Many Requests")
            if all(key in row for key in keys or []):
                yield row

    def history(self, samples: int = 500) -> list[dict[str, Any]]:
        """Some rows."""
        return random.sample(self.rows, min(samples, len(self.rows)))


def use_client(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Have `import wandb` find a client whose server holds `run`."""
    wandb, errors = ModuleType("wandb"), ModuleType("wandb.errors")
    errors.Error = ClientError  # type: ignore[attr-defined]
    wandb.errors = errors  # type: ignore[attr-defined]
    known = {"run": lambda self, path: run, "runs": lambda self, path: [run]}
    wandb.Api = lambda: type("Api", (), known)()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "wandb.sdk.lib.service.service_connection", ModuleType("service_connection"))
