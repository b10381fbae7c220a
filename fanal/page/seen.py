"""A record as the page reads it: each run's keys listed once, and a series that is not there is None.

The page asks for hundreds of series that a run may or may not have logged; listing the keys for each
question, or raising for each absent one, would cost more than reading. Nothing is copied or kept.
"""

from dataclasses import dataclass

from fanal.record.events import Event
from fanal.record.reading.read import Record, RunView, Series


class SeenRun:
    """One run, as of one moment."""

    def __init__(self, view: RunView) -> None:
        self.id = view.id
        self.role = view.role
        self.name = view.name
        self.keys = tuple(view.keys())
        self._known = frozenset(self.keys)
        self._view = view

    def series(self, key: str) -> Series | None:
        """The stitched series of `key`; None where it holds nothing."""
        if key not in self._known:
            return None
        series = self._view.series(key)
        return series if len(series.steps) else None

    def events(self, kind: str | None = None) -> list[Event]:
        """The run's events, or those of one kind, by attempt and sequence."""
        return self._view.events(kind)


@dataclass(frozen=True)
class SeenRecord:
    """A whole record, as of one moment."""

    campaign: SeenRun | None
    """The campaign's own run, with plan, stages, corpus and verdict."""
    runs: dict[str, SeenRun]
    """The trainings, in order of creation."""

    def campaign_events(self, kind: str | None = None) -> list[Event]:
        """The campaign's own events; none outside a campaign."""
        return self.campaign.events(kind) if self.campaign else []


def see(record: Record) -> SeenRecord:
    """`record` as of its last refresh."""
    campaign = SeenRun(record.campaign) if record.campaign else None
    return SeenRecord(campaign, {name: SeenRun(view) for name, view in record.runs.items()})
