"""A wandb server on loopback that speaks as far as the client asks for a run's history; made from what it really asks.

History comes in two parts as on the real one: Parquet files by address, and pages of what is not exported yet. Requests
can be answered with 429 and `Retry-After`, and the counts that the server claims can be made to differ.
"""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass
class FakeRun:
    """A run `e/p/r1` and how its server behaves."""

    exported: list[dict[str, Any]]
    """Rows in the Parquet file; a missing key is null there."""
    live: list[dict[str, Any]]
    """Rows after these, given by page."""
    claimed_rows: int | None = None
    claimed_last_step: int | None = None
    refusals: int = 0
    """Pages answered with 429 before one is given."""
    asked: list[str] = field(default_factory=list[str])
    """Names of the queries that came."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows."""
        return self.exported + self.live

    def about(self) -> dict[str, Any]:
        """The run's fields, as the client asks for them."""
        last = self.claimed_last_step
        keys: dict[str, int] = {}
        for row in self.rows:
            for key in row:
                keys[key] = keys.get(key, 0) + 1
        counts = {key: {"typeCounts": [{"type": "number", "count": n}]} for key, n in keys.items()}
        return {
            "id": "UnVu",
            "projectId": "1",
            "tags": ["public"],
            "name": "r1",
            "displayName": "nice-run-1",
            "sweepName": None,
            "state": "finished",
            "config": json.dumps({"lr": {"value": 0.1}, "_wandb": {"value": {}}}),
            "group": "g",
            "jobType": None,
            "commit": None,
            "readOnly": True,
            "createdAt": "2026-01-01T00:00:00Z",
            "heartbeatAt": "2026-01-01T01:00:00Z",
            "description": None,
            "notes": None,
            "systemMetrics": "{}",
            "summaryMetrics": json.dumps({"best": 3.5}),
            "historyLineCount": len(self.rows) if self.claimed_rows is None else self.claimed_rows,
            "user": {"name": "u", "username": "u"},
            "historyKeys": {"lastStep": max(r["_step"] for r in self.rows) if last is None else last, "keys": counts},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    run: FakeRun

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        query, given = asked["query"], asked.get("variables") or {}
        name = query.split("query", 1)[-1].split("(")[0].split("{")[0].strip()
        self.run.asked.append(name)
        if name == "HistoryPage" and self.run.refusals:
            self.run.refusals -= 1
            self._answer(429, b"{}", {"Retry-After": "1"})
            return
        body = {"data": self._data(name, given)}
        self._answer(200, json.dumps(body).encode(), {"content-type": "application/json"})

    def do_GET(self) -> None:
        self.run.asked.append("parquet")
        keys = dict.fromkeys(key for row in self.run.exported for key in row)
        table = pa.table({key: [row.get(key) for row in self.run.exported] for key in keys})
        held = io.BytesIO()
        pq.write_table(table, held)
        self._answer(200, held.getvalue(), {"content-type": "application/octet-stream"})

    do_HEAD = do_GET

    def _data(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if name == "Run":
            return {"project": {"run": self.run.about()}}
        if name == "Runs":
            edges = [{"node": self.run.about(), "cursor": "1"}]
            runs = {"edges": edges, "pageInfo": {"endCursor": "1", "hasNextPage": False}}
            return {"project": {"internalId": "1", "runCount": 1, "readOnly": True, "runs": runs}}
        if name == "RunHistoryKeys":
            return {"project": {"run": {"historyKeys": self.run.about()["historyKeys"]}}}
        if name == "RunParquetHistory":
            port = self.server.server_address[1]
            urls = [f"http://127.0.0.1:{port}/history/0.parquet"] if self.run.exported else []
            live = [{"_step": row["_step"]} for row in self.run.live]
            return {"project": {"run": {"parquetHistory": {"parquetUrls": urls, "liveData": live}}}}
        if name == "HistoryPage":
            inside = [row for row in self.run.live if given["minStep"] <= row["_step"] < given["maxStep"]]
            return {"project": {"run": {"history": [json.dumps(row) for row in inside[: given["pageSize"]]]}}}
        return {"viewer": {"id": "v", "entity": "e", "username": "u", "email": "u@e", "flags": "{}", "teams": None}}

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@contextmanager
def wandb_server(run: FakeRun) -> Iterator[str]:
    """The address of a server that holds `run`."""
    handler = type("Handler", (_Handler,), {"run": run})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
