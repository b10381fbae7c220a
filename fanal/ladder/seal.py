"""The forecast enters the hero's record, before the hero has a row; afterwards it is refused.

Guarantees: the document is written once, under the SHA-256 of its canonical JSON. Whether it truly came
first is not a field of it: `verify` computes that from the record's sequence numbers. Does not: keep
anyone from training a hero twice and showing one; that is what the record's attempts are for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanal.campaign.fingerprint import canonical_json, sha256_hex
from fanal.errors import RefusedError
from fanal.record.attempt import Run
from fanal.record.reading.read import RunView, open_record

Json = Any


@dataclass(frozen=True)
class Sealed:
    """A forecast as it stands in a record."""

    sha256: str
    document: Mapping[str, Json]


def document_sha256(document: Mapping[str, Json]) -> str:
    """The name of a document: SHA-256 of its canonical JSON."""
    return sha256_hex(canonical_json(document))


def seal(run: Run, document: Mapping[str, Json]) -> str:
    """Write `document` into the record of `run`, the hero, and return its SHA-256; a second time it does nothing.

    Raises: RefusedError where the hero has a row, or another forecast, already.
    """
    view, sha256 = open_record(run.path).runs[run.id], document_sha256(document)
    earlier, begun = sealed_forecast(view), first_step(view)
    if earlier is not None and earlier.sha256 == sha256:
        return sha256
    if earlier is not None:
        raise RefusedError(
            f"run {run.id} has the forecast {earlier.sha256[:12]} already, and this one is {sha256[:12]}: one is sealed"
        )
    if begun is not None:
        raise RefusedError(
            f"run {run.id} has a row at step {begun}: what is written now is no forecast; seal before the first step"
        )
    run.event("forecast", sha256=sha256, document=dict(document))
    return sha256


def sealed_forecast(view: RunView) -> Sealed | None:
    """The first forecast in a run's record, or None; later ones stand beside it and never replace it.

    Raises: RefusedError where the document is not the one that its SHA-256 names.
    """
    events = view.events("forecast")
    if not events:
        return None
    fields = events[0].fields
    found = document_sha256(fields["document"])
    if found != fields["sha256"]:
        raise RefusedError(
            f"run {view.id}: its forecast is named {fields['sha256']} and hashes to {found}: it was altered"
        )
    return Sealed(found, fields["document"])


def first_step(view: RunView) -> int | None:
    """The smallest step from 0 on that any attempt of a run has logged, superseded rows among them; or None."""
    logged = [piece.steps for w in view.writers() for key in w.keys() for piece in w.pieces(key)]  # noqa: SIM118
    begun = [int(steps[steps >= 0].min()) for steps in logged if (steps >= 0).any()]
    return min(begun, default=None)
