"""How far earlier imports came, as the record itself says: the last `import.state` event, and the frames after it.

A state event stands at the beginning of each writer and now and then after a batch; what follows it is counted. So a
killed importer's place is exact to the value, whatever the moment, at the price of reading some of the source again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fanal.importers.items import REPEATABLE, Cursor
from fanal.record import layout
from fanal.record.reading.read import Record, RunView, open_record


@dataclass
class Known:
    """Where an earlier import of a run stopped."""

    run: str
    cursor: Cursor
    done: int
    """What is in the record already after `cursor`, as `items.weight` counts it."""
    serial: int
    counts: dict[str, int]
    """Rows and values imported before the state event."""
    unreadable: list[list[str]]
    num_unreadable: int


def known_runs(record: Path, kind: str) -> list[Known]:
    """What earlier imports of this kind left in the record; nothing where there is no record."""
    if not (record / layout.RECORD_FILE).is_file():
        return []
    opened = open_record(record)
    return [known for view in opened.runs.values() if (known := _known(view, kind)) is not None]


def _known(view: RunView, kind: str) -> Known | None:
    states = [event for event in view.events("import.state") if event.fields["source_kind"] == kind]
    if not states:
        return None
    last = max(states, key=lambda event: int(event.fields["state"]["serial"]))
    state = cast("dict[str, Any]", last.fields["state"])
    after = _frames_after(view, last.attempt, last.writer, last.sequence)
    rows, values, others = 0, 0, 0
    for width in after:
        rows, values, others = (rows + 1, values + width, others) if width else (rows, values, others + 1)
    counts = {name: int(number) for name, number in state["counts"].items()}
    counts["rows"] += rows
    counts["values"] += values
    done = int(state["done"]) + counts["values"] - int(state["counts"]["values"]) + others
    return Known(
        view.id, state["cursor"], done, int(state["serial"]), counts, state["unreadable"], int(state["num_unreadable"])
    )


def _frames_after(view: RunView, attempt: int, writer: str, sequence: int) -> Iterator[int]:
    """The number of values of each row after a sequence number, and 0 for each odd value or event that is an item."""
    found = next(w for w in view.writers() if w.place.attempt == attempt and w.place.writer == writer)
    for number, fact in found.facts():
        if number > sequence and fact.kind not in REPEATABLE:
            yield 0
    widths: dict[int, int] = {}
    for key in dict.fromkeys(found.keys()):
        for piece in found.pieces(key):
            for row in piece.sequences[piece.sequences > sequence].tolist():
                widths[row] = widths.get(row, 0) + 1
    yield from widths.values()


def is_empty(record: Path, run: str) -> bool:
    """Whether a run holds nothing: what an importer left that was killed before its first item."""
    opened = Record(record)
    view = opened.runs.get(run)
    if view is None:
        return True
    only = {event.kind for event in view.events()} <= REPEATABLE
    return only and not view.keys() and not view.others() and all(a.cause == "import" for a in view.attempts)
