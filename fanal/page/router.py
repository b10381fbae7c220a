"""Router maps: the load and the balancing bias of each expert over time, and entropy and dropped share by layer.

Each map has at most `MAX_COLUMNS` columns of equal steps over the planned run, so its grid does not move
while the run grows; a cell is the mean of the finite values in it, null where there is none.
"""

import math
import re
from dataclasses import dataclass

from fanal.page.progress import Progress, subject
from fanal.page.seen import SeenRecord, SeenRun
from fanal.page.series import Envelope, bucket_means, envelope
from fanal.record.metrics import router_bias, router_dropped, router_entropy, router_load

MAX_COLUMNS = 64
MAX_LINE_BUCKETS = 100
_LOAD = re.compile(r"router/load/layer(\d+)/e(\d+)")


@dataclass(frozen=True)
class HeatMap:
    """One value by expert and time."""

    unit: str
    """Of the values."""
    low: float
    """Least value."""
    high: float
    """Most value."""
    cells: list[list[float | None]]
    """One row an expert, one column a bucket of steps."""


@dataclass(frozen=True)
class RouterLayer:
    """The router of one layer."""

    layer: int
    """Which, from 0."""
    num_experts: int
    """Routed experts."""
    load: HeatMap | None
    """Tokens sent to an expert over the even share; 1 is even."""
    bias: HeatMap | None
    """Balancing bias of an expert."""
    entropy: Envelope | None
    """Of the load over experts, nats."""
    even_entropy: float
    """The logarithm of the number of experts: the entropy of an even load."""
    dropped: Envelope | None
    """Share of assignments that found no slot."""


@dataclass(frozen=True)
class RouterChart:
    """The routers of one run."""

    run: str
    """Which run."""
    column_steps: int
    """Steps of a column of the maps."""
    num_columns: int
    """Columns of the whole planned run."""
    num_steps: int
    """Planned updates."""
    layers: list[RouterLayer]
    """In order."""


def router_chart(record: SeenRecord, progress: Progress) -> RouterChart | None:
    """The routers of the run the page is about, or None where none was logged."""
    row = subject(progress)
    run = record.runs.get(row.run) if row else None
    if row is None or run is None:
        return None
    found = [_LOAD.fullmatch(key) for key in run.keys]
    experts: dict[int, int] = {}
    for match in (m for m in found if m):
        layer, expert = int(match[1]), int(match[2])
        experts[layer] = max(experts.get(layer, 0), expert + 1)
    if not experts:
        return None
    num_steps = row.num_steps or max(1, row.step)
    width = -(-num_steps // MAX_COLUMNS)
    columns = -(-num_steps // width)
    layers = [_layer(run, layer, count, (num_steps, width, columns)) for layer, count in sorted(experts.items())]
    return RouterChart(row.run, width, columns, num_steps, layers)


def _layer(run: SeenRun, layer: int, num_experts: int, grid: tuple[int, int, int]) -> RouterLayer:
    num_steps, width, columns = grid
    load = [router_load(layer, e) for e in range(num_experts)]
    bias = [router_bias(layer, e) for e in range(num_experts)]
    return RouterLayer(
        layer=layer,
        num_experts=num_experts,
        load=_map(run, load, (width, columns), "times the even share"),
        bias=_map(run, bias, (width, columns), "added to the logit"),
        entropy=_line(run, router_entropy(layer), num_steps),
        even_entropy=float(f"{math.log(num_experts):.6g}"),
        dropped=_line(run, router_dropped(layer), num_steps),
    )


def _map(run: SeenRun, keys: list[str], grid: tuple[int, int], unit: str) -> HeatMap | None:
    rows = [run.series(key) for key in keys]
    empty: list[float | None] = [None] * grid[1]
    cells = [bucket_means(r, *grid) if r is not None else empty for r in rows]
    values = [v for row in cells for v in row if v is not None]
    return HeatMap(unit, min(values), max(values), cells) if values else None


def _line(run: SeenRun, key: str, num_steps: int) -> Envelope | None:
    series = run.series(key)
    return envelope(series, num_steps, MAX_LINE_BUCKETS) if series is not None else None
