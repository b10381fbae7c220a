"""The plan of a campaign, as the page needs it, read back from the record's own `plan` event.

The event holds the resolved campaign as JSON; a record without one (a run outside a campaign) gives
an empty plan, and every part of the page that needs it then says so. Nothing is derived here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from fanal.page.seen import SeenRecord
from fanal.record.reading.read import Record

Json = Any


@dataclass(frozen=True)
class PlannedRun:
    """What the plan says of one training."""

    run: str
    role: str
    hidden: int | None
    seed: int
    num_steps: int | None
    tokens: int | None
    batch_tokens: int | None
    flops: float | None
    """Without the head."""
    params_active: int | None
    params_total: int | None
    laws: Sequence[Mapping[str, Json]] = ()
    model: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def size(self) -> str:
        """The rung without its seed: `d32` of `d32-s1`."""
        return self.run.partition("-s")[0] if self.role == "rung" else self.run


@dataclass(frozen=True)
class CampaignView:
    """The campaign of a record: what was written and what follows from it, or nothing."""

    fingerprint: str | None = None
    written: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The campaign as a person wrote it."""
    runs: tuple[PlannedRun, ...] = ()
    """In order of training, the hero last."""

    def run(self, name: str) -> PlannedRun | None:
        """The plan of one run, or None."""
        return next((run for run in self.runs if run.run == name), None)

    def part(self, *names: str) -> Json:
        """A value of the written campaign by its path, or None."""
        at: Json = self.written
        for name in names:
            at = cast("Mapping[str, Json]", at).get(name) if isinstance(at, Mapping) else None
        return at


def campaign_view(record: Record | SeenRecord) -> CampaignView:
    """The plan that `record` holds; the newest where a campaign was resumed under a changed plan."""
    events = record.campaign.events("plan") if record.campaign else []
    if not events:
        return CampaignView()
    fields = events[-1].fields
    resolved = fields["resolved"]
    runs = tuple(_planned(run) for run in resolved.get("runs", ()))
    return CampaignView(fields["fingerprint"], resolved.get("campaign", {}), runs)


def _planned(run: Mapping[str, Json]) -> PlannedRun:
    counts: Mapping[str, Json] = run.get("counts") or {}
    seqs, length = run.get("batch_seqs"), run.get("seq_tokens")
    return PlannedRun(
        run=run["run"],
        role=run["role"],
        hidden=run.get("hidden"),
        seed=run.get("seed", 0),
        num_steps=run.get("num_steps"),
        tokens=run.get("tokens"),
        batch_tokens=seqs * length if seqs and length else None,
        flops=counts.get("flops"),
        params_active=counts.get("params_active"),
        params_total=counts.get("params_total"),
        laws=run.get("laws") or (),
        model=run.get("model") or {},
    )
