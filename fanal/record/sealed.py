"""Whether forecasts precede what they forecast, computed from (attempt, sequence) numbers and from nothing they claim.

A forecast of a run is sealed before step 0 when it precedes every row of that run, of any attempt, with step 0 or
above. Two writers of one attempt have no order, so that a forecast beside another writer's rows does not precede them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.record.events import Event
from fanal.record.read import Record, RunView
from fanal.record.writer_view import WriterView


@dataclass(frozen=True)
class ForecastCheck:
    """One forecast event."""

    run: str
    attempt: int
    sequence: int
    sha256: str
    sealed_before_step_0: bool
    late: bool
    """Its document says itself that it came later."""
    hash_fits: bool
    """The document is the one that its hash names."""

    @property
    def ok(self) -> bool:
        """What it claims is so."""
        return self.hash_fits and (self.sealed_before_step_0 or self.late)

    @property
    def words(self) -> str:
        """The result in a line."""
        who = f"forecast {self.sha256[:12]} in run {self.run}"
        if not self.hash_fits:
            return f"{who}: its document is not the one that its hash names"
        if self.sealed_before_step_0:
            return f"{who}: sealed before step 0"
        return f"{who}: after step 0" + (", and marked late" if self.late else ", and not marked late")


def check_forecasts(record: Path) -> tuple[ForecastCheck, ...]:
    """Every forecast event of a whole record."""
    opened = Record(record)
    views = [*opened.runs.values(), *([opened.campaign] if opened.campaign else [])]
    return tuple(_check(view, event) for view in views for event in view.events("forecast"))


def _check(view: RunView, event: Event) -> ForecastCheck:
    document = event.fields["document"]
    try:
        hash_fits = sha256_hex(canonical_json(document)) == event.fields["sha256"]
    except ValueError:  # a number that is not finite: no sealed document has one
        hash_fits = False
    return ForecastCheck(
        run=view.id,
        attempt=event.attempt,
        sequence=event.sequence,
        sha256=event.fields["sha256"],
        sealed_before_step_0=all(_precedes(event, writer) for writer in view.writers()),
        late=document.get("late") is True,
        hash_fits=hash_fits,
    )


def _precedes(event: Event, writer: WriterView) -> bool:
    first = min(_sequences_from_step_0(writer), default=None)
    if first is None or event.attempt < writer.place.attempt:
        return True
    return event.attempt == writer.place.attempt and event.writer == writer.place.writer and event.sequence < first


def _sequences_from_step_0(writer: WriterView) -> Iterator[int]:
    """By stretch of rows, the first sequence number of a row with step 0 or above."""
    for segment in writer.segments:
        for group in segment.groups:
            if group.first_row_step >= 0:
                yield group.first_sequence
            elif group.max_step >= 0:
                rows = segment.rows(group)
                yield int(rows.sequences[rows.steps >= 0][0])
    for group in writer.tail.groups.values():
        yield from (s for s, step in zip(group.sequences, group.steps, strict=True) if step >= 0)
