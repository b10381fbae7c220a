"""Whether forecasts precede what they forecast, computed from (attempt, sequence) numbers and from nothing they claim.

A forecast of a run is sealed before step 0 when it precedes every row of that run, of any attempt, with step 0 or
above. Two writers of one attempt have no order, so that a forecast beside another writer's rows does not precede them.
A root that was anchored or seen elsewhere and covers the forecast shows that it was there by then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.record.events import Event
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.leaves import Leaf
from fanal.record.proof.tree import root
from fanal.record.reading.read import Record, RunView
from fanal.record.reading.writer_view import WriterView


@dataclass(frozen=True)
class Witness:
    """A root that others hold too."""

    size: int
    root: str
    where: str

    def wrong(self, leaves: Sequence[bytes]) -> str | None:
        """What is wrong with a record of these leaves, if it does not begin with the tree of this root."""
        if len(leaves) < self.size:
            return f"is shorter than its root anchored in {self.where}: {self.size} segments then, {len(leaves)} now"
        if root(leaves[: self.size]).hex() != self.root:
            return f"is another history than its root anchored in {self.where}"
        return None


def witnesses_of(record: Path) -> list[Witness]:
    """The roots that the record's events say were anchored."""
    facts = [fact.fields for fact in journal_facts(record, "anchor")]
    return [Witness(fields["size"], fields["root"], fields["where"]) for fields in facts]


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
    witness: Witness | None = None
    """The smallest root known elsewhere that covers it; None where there is none."""

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
            return f"{who}: sealed before step 0{self._covered}"
        return f"{who}: after step 0" + (", and marked late" if self.late else ", and not marked late") + self._covered

    @property
    def _covered(self) -> str:
        if self.witness is None:
            return ""
        return f"; the root of {self.witness.size} segments ({self.witness.where}) covers it"


def check_forecasts(
    record: Path, leaves: Sequence[Leaf] = (), witnesses: Sequence[Witness] = ()
) -> tuple[ForecastCheck, ...]:
    """Every forecast event of a whole record, with the root among `witnesses` that covers it."""
    opened = Record(record)
    views = [*opened.runs.values(), *([opened.campaign] if opened.campaign else [])]
    place_of_leaf = {(leaf.writer, leaf.segment): index for index, leaf in enumerate(leaves)}
    found: list[ForecastCheck] = []
    for view in views:
        for event in view.events("forecast"):
            index = _leaf_index(event, view, place_of_leaf)
            covering = [one for one in witnesses if index is not None and one.size > index]
            found.append(_check(view, event, min(covering, key=lambda one: one.size, default=None)))
    return tuple(found)


def _leaf_index(event: Event, view: RunView, place_of_leaf: dict[tuple[str, int], int]) -> int | None:
    """The leaf of the segment that holds an event; None while it is in a log, or not in the tree yet."""
    for writer in view.writers():
        if (writer.place.attempt, writer.place.writer) == (event.attempt, event.writer):
            for segment in writer.segments:
                if segment.first_sequence <= event.sequence <= segment.last_sequence:
                    return place_of_leaf.get((writer.place.name, segment.number))
    return None


def _check(view: RunView, event: Event, witness: Witness | None) -> ForecastCheck:
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
        witness=witness,
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
