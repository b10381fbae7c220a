"""`fanal publish --estimate`: objects, bytes, requests and what they cost a month, from the record's own pace.

Reads the record and writes nothing, asks no host. A run that goes on as it did so far, published as often as its rows
come, and read through a cache that asks the host for each file once and for the manifests once a second at most.
Prices are list prices that change: `docs/hosting.md` has them with their sources.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fanal.page.public import PublicRecord
from fanal.page.publisher import EVERY_SECONDS
from fanal.page.site import assets
from fanal.page.words import figure
from fanal.record.layout import find_record
from fanal.record.reading.read import Record

MONTH_SECONDS = 30 * 24 * 3600
PUTS_A_ROUND = 4
"""A slice, the view, and the two manifests."""
VIEWER_HOURS = 1000
SHORT_SECONDS = 600
FIRST_VIEW_BYTES = 200_000
BYTES_A_ROUND = 30_000
"""A new view for a reader who looks on."""


@dataclass(frozen=True)
class Price:
    """List prices of a host, in US dollars."""

    host: str
    gigabyte_month: float
    million_puts: float
    million_gets: float
    gigabyte_out: float


PRICES = (
    Price("S3 (us-east-1)", 0.023, 5.00, 0.40, 0.09),
    Price("Cloudflare R2", 0.015, 4.50, 0.36, 0.0),
    Price("Google Cloud Storage (us-central1)", 0.020, 5.00, 0.40, 0.12),
    Price("Backblaze B2", 0.006, 0.0, 0.40, 0.01),
    Price("a folder on your own server", 0.0, 0.0, 0.0, 0.0),
)
"""As of 2025; free allowances are left out. Sources: `docs/hosting.md`."""


@dataclass(frozen=True)
class Estimate:
    """What publishing a record takes, now and a month on."""

    objects: int
    """Files now."""
    bytes: int
    seconds: float
    """What the record spans."""
    rows: int
    objects_a_month: int | None = None
    """This and what follows: None where the record spans less than ten minutes, which tells no pace."""
    bytes_a_month: int | None = None
    puts_a_month: int | None = None
    gets_a_month: int | None = None
    bytes_out_a_month: int | None = None
    dollars_a_month: tuple[tuple[str, float], ...] = ()
    exit_code: int = 0

    @property
    def words(self) -> str:
        """The estimate for people."""
        pace = f"{figure(self.rows, 0)} rows in {figure(self.seconds, 1 if self.seconds < 10 else 0)} s"
        lines = [f"now: {figure(self.objects, 0)} objects, {figure(self.bytes, 0)} bytes; {pace}"]
        if self.objects_a_month is None:
            short = "no figures for a month: the record spans less than ten minutes, which says little of one"
            return "\n".join([*lines, f"{short}; ask again later"])
        lines += [
            f"a month (30 days) at this pace: {_said(self.objects_a_month)} objects and "
            f"{_said(self.bytes_a_month)} bytes more, {_said(self.puts_a_month)} puts;",
            f"with {VIEWER_HOURS:,} hours of people watching: {_said(self.gets_a_month)} gets, "
            f"{_said(self.bytes_out_a_month)} bytes out",
        ]
        lines += [f"  {host}: {dollars:,.2f} $ a month" for host, dollars in self.dollars_a_month]
        return "\n".join([*lines, "list prices of 2025 without free allowances; prices change: see docs/hosting.md"])

    def to_json(self) -> dict[str, Any]:
        """The estimate as JSON."""
        return asdict(self)


def estimate(path: Path | str, every_seconds: float = EVERY_SECONDS) -> Estimate:
    """What publishing the record at `path` takes.

    Raises:
        RecordError: no record at `path`.
    """
    source = find_record(Path(path))
    public = PublicRecord(source, look=False)
    public.refresh()
    public.render()
    sizes = [piece.num_bytes for piece in public.files.values()]
    times = [timed for one in _times(Record(source, public=True)) if len(timed := one[one > 0])]
    rows = sum(len(one) for one in times)
    span = (max(int(one[-1]) for one in times) - min(int(one[0]) for one in times)) / 1e9 if times else 0.0
    objects = len(sizes) + len(assets().files) + 4
    now = Estimate(objects, sum(sizes) + sum(map(len, assets().files.values())), span, rows)
    return now if span < SHORT_SECONDS else _a_month(now, sizes, every_seconds)


def _a_month(now: Estimate, sizes: list[int], every_seconds: float) -> Estimate:
    """What a month more takes at the pace so far; `sizes` of the record's files."""
    months = MONTH_SECONDS / now.seconds
    rounds = min(now.rows * months, MONTH_SECONDS / every_seconds)
    objects_more, bytes_more = round(len(sizes) * months), round(sum(sizes) * months)
    puts = round(objects_more + PUTS_A_ROUND * rounds)
    looks = VIEWER_HOURS * 3600 * rounds / MONTH_SECONDS
    bytes_out = round(VIEWER_HOURS * FIRST_VIEW_BYTES + looks * BYTES_A_ROUND)
    gets = round(min(2 * rounds, MONTH_SECONDS) + objects_more + len(sizes))
    return replace(
        now,
        objects_a_month=objects_more,
        bytes_a_month=bytes_more,
        puts_a_month=puts,
        gets_a_month=gets,
        bytes_out_a_month=bytes_out,
        dollars_a_month=tuple(
            (
                price.host,
                (sum(sizes) + bytes_more) / 1e9 * price.gigabyte_month
                + puts / 1e6 * price.million_puts
                + gets / 1e6 * price.million_gets
                + bytes_out / 1e9 * price.gigabyte_out,
            )
            for price in PRICES
        ),
    )


def _said(number: int | None) -> str:
    return figure(number or 0, 0)


def _times(record: Record) -> "Iterator[np.ndarray[Any, np.dtype[np.int64]]]":
    """Times of rows, a group of keys after the other, sorted; 0 where the source of a row has none."""
    for run in record.runs.values():
        for writer in run.writers():
            for segment in writer.segments:
                yield from (np.sort(segment.rows(group).times_ns) for group in segment.groups)
            yield from (np.sort(np.array(group.times_ns, np.int64)) for group in writer.tail.groups.values())
