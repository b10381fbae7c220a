"""Reads a record, finished or being written, in a folder or at an address: its runs in order of creation.

`refresh` costs what is new: segments never change, and of a log only the bytes after the last read. No lock is taken.
Everything is exact; reduced history is in `tiles.py`. A missing run is a KeyError naming the nearest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.record import layout
from fanal.record.blobs import read_blob
from fanal.record.copies.fetching import Address, is_address
from fanal.record.events import nearest
from fanal.record.reading.begun import Attempt
from fanal.record.reading.meaning import Metric
from fanal.record.reading.own_run import Family, OwnRun, Source
from fanal.record.reading.remote import CopiedSite, Remote
from fanal.record.reading.run_view import RunView, Visible
from fanal.record.reading.series import Origin, Series
from fanal.record.reading.summary import Other
from fanal.record.segments.segment import nowhere

__all__ = ["Attempt", "Found", "Metric", "Origin", "Other", "Record", "RunView", "Series", "Visible", "open_record"]


@dataclass(frozen=True)
class Found:
    """A key of a run that a search found."""

    run: str
    metric: Metric


class Record:
    """A record, as of the last refresh."""

    def __init__(self, path: Path, public: bool = False, remote: Remote | None = None) -> None:
        """With `public`, without what is withheld from publishing."""
        self.path = path
        self.header = layout.read_header(path)
        self._remote = remote
        self._source = Source(path, self.blob, remote.fetch if remote else nowhere, public)
        self._family = Family()
        self._views: dict[str, RunView] = {}
        self.runs: dict[str, RunView] = {}
        self.refresh()

    @property
    def address(self) -> str | None:
        """The address (or the copied site) that its files come from; None of a record in a folder."""
        return self._remote.url if self._remote else None

    @property
    def campaign(self) -> RunView | None:
        """The campaign's own run, with plan, stages and verdict; None where there is no campaign."""
        return self._views[self._family.campaign.id] if self._family.campaign else None

    @property
    def journal(self) -> RunView | None:
        """The run of facts about the record itself, such as keys and redactions; None where there is none."""
        return self._views[self._family.journal.id] if self._family.journal else None

    def refresh(self) -> bool:
        """Read what is new, at the cost of what is new; whether anything was."""
        if self._remote:
            self._remote.refresh()
        runs, new = self._family.runs, False
        for name in layout.runs_of(self.path):
            if name not in runs:
                runs[name] = OwnRun(name, self._source)
                self._views[name] = RunView(runs[name], self._family)
            new |= runs[name].refresh()
        if new:
            for view in self._views.values():
                view.forget()
        begun = sorted((r for r in runs.values() if r.created_ns is not None), key=lambda r: (r.created_ns, r.id))
        self._family.campaign = next((run for run in begun if run.role == "campaign"), None)
        self._family.journal = next((run for run in begun if run.role == "record"), None)
        if self._remote and self.journal:
            self._remote.drop_blobs(event.fields["blob"] for event in self.journal.events("redaction"))
        self.runs = _Runs({run.id: self._views[run.id] for run in begun if run.role not in ("campaign", "record")})
        return new

    def blob(self, ref: Mapping[str, Any]) -> bytes:
        """The bytes that a reference in an event or a value names, as they were given.

        Raises:
            RecordError: they were redacted, or are missing or altered; says which.
        """
        if self._remote:
            self._remote.fetch_blob(str(ref["$blob"]))
        return read_blob(self.path, ref)

    def search(self, text: str) -> list[Found]:
        """The keys whose name, meaning or unit has all words of `text`, by run; those with it in their name first."""
        words = text.casefold().split()
        found: list[tuple[bool, Found]] = []
        for view in self.runs.values():
            for key in view.keys():  # noqa: SIM118
                metric = view.metric(key)
                told = " ".join([key, metric.text or "", metric.unit or ""]).casefold()
                if all(word in told for word in words):
                    found.append((not all(word in key.casefold() for word in words), Found(view.id, metric)))
        return [one for _, one in sorted(found, key=lambda one: one[0])]


class _Runs(dict[str, RunView]):
    """Runs by id, whose KeyError names the nearest."""

    def __missing__(self, run: str) -> RunView:
        raise KeyError(f"the record has no run {run!r}; nearest: {nearest(run, self)}")


def open_record(path: str | Path) -> Record:
    """The record in `path`, or in its folder `record`; an address (`https://…`) is opened lazily.

    Raises:
        RecordError: there is none, it does not answer, is damaged, or of a newer format.
    """
    if isinstance(path, str) and is_address(path):
        remote = Remote(Address(path))
        return Record(remote.folder, remote=remote)
    folder = layout.find_record(Path(path))
    if (folder / layout.TAILS).is_dir():  # a site that was copied as it is: its logs lie there in slices
        remote = Remote(CopiedSite(folder))
        return Record(remote.folder, remote=remote)
    return Record(folder)
